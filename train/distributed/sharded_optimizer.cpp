#include "train/distributed/sharded_optimizer.h"

#include <cmath>

namespace tapeformer {

ShardedOptimizer::ShardedOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                                   Communicator& ranks, CommPrecision precision, std::int64_t bucket)
    : Optimizer(slab, clip),
      ranks_(ranks),
      shares_(slab.values().numel(), slab.values().dtype(), ranks, precision, bucket) {
  for (const auto [begin, end] : shares_.own()) {
    pieces_.push_back(std::make_unique<Piece>(slab.part(begin, end, slab.values(), slab.gradients()), make));
  }
}

double ShardedOptimizer::step(double lr, std::int64_t step) {
  slab().complete_gradients();
  shares_.reduce(slab().gradients());
  double squares = 0;
  for (const auto& piece : pieces_) squares += piece->optimizer->squared_norm();
  const double norm = std::sqrt(ranks_.sum(squares));
  if (!std::isfinite(norm)) return norm;
  shares_.remember(slab().values());
  apply(clipped(lr, step, norm));
  shares_.gather(slab().values());
  return norm;
}

void ShardedOptimizer::update(const OptimizerStep& step) {
  for (const auto& piece : pieces_) piece->optimizer->apply(step);
}

NamedTensors ShardedOptimizer::state() const {
  NamedTensors state;
  for (const auto& piece : pieces_) {
    for (auto& entry : piece->optimizer->state()) state.push_back(std::move(entry));
  }
  return state;
}

}  // namespace tapeformer
