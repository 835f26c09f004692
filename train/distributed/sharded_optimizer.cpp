#include "train/distributed/sharded_optimizer.h"

#include <cmath>

namespace tapeformer {

ShardedOptimizer::ShardedOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                                   Communicator& ranks, CommPrecision precision, std::int64_t bucket)
    : Optimizer(slab, clip),
      ranks_(ranks),
      shares_(
          slab.values().numel(), slab.values().dtype(), ranks, precision,
          [this](std::size_t i) { pieces_[i]->squared_norm = pieces_[i]->optimizer->squared_norm(); }, bucket) {
  for (const auto [begin, end] : shares_.own()) {
    pieces_.push_back(std::make_unique<Piece>(slab.part(begin, end, slab.values(), slab.gradients()), make));
  }
}

void ShardedOptimizer::gradient_is_ready(const Tensor& gradient) {
  const auto begin = slab().place_of(gradient);
  if (begin) shares_.ready(slab().gradients(), *begin, *begin + ParameterSlab::padded(gradient.numel()));
}

double ShardedOptimizer::gradient_norm() {
  slab().complete_gradients();
  shares_.reduce(slab().gradients());
  double squares = 0;
  for (const auto& piece : pieces_) squares += piece->squared_norm;
  return std::sqrt(ranks_.sum(squares));
}

void ShardedOptimizer::update(const OptimizerStep& step) {
  shares_.gather(slab().values(), [&](std::size_t piece) { pieces_[piece]->optimizer->apply(step); });
}

NamedTensors ShardedOptimizer::state() const {
  NamedTensors state;
  for (const auto& piece : pieces_) {
    for (auto& entry : piece->optimizer->state()) state.push_back(std::move(entry));
  }
  return state;
}

}  // namespace tapeformer
