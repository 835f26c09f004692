#include "train/distributed/sharded_optimizer.h"

#include <cmath>

namespace tapeformer {
namespace {

// The stretches of the slab that must not be split between two optimizers.
std::vector<GradientBuckets::Piece> whole_stretches(const ParameterSlab& slab, OptimizerUnit unit) {
  std::vector<GradientBuckets::Piece> whole;
  if (unit == OptimizerUnit::element) return whole;
  for (const ParameterSlab::Part& part : slab.parts()) {
    if (part.role.kind == ParameterKind::matrix) {
      whole.push_back({part.begin, part.begin + ParameterSlab::padded(part.size)});
    }
  }
  return whole;
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                                   Communicator& ranks, CommPrecision precision, std::int64_t bucket,
                                   OptimizerUnit unit)
    : Optimizer(slab, clip),
      ranks_(ranks),
      buckets_(
          slab.values().numel(), slab.values().dtype(), ranks, precision,
          [this](std::size_t i) { pieces_[i]->squared_norm = pieces_[i]->optimizer->squared_norm(); }, bucket,
          whole_stretches(slab, unit)) {
  for (const auto [begin, end] : buckets_.own()) {
    pieces_.push_back(std::make_unique<Piece>(slab.part(begin, end, slab.values(), slab.gradients()), make));
  }
}

void ShardedOptimizer::gradient_is_ready(const Tensor& gradient) {
  const auto begin = slab().gradient_offset(gradient);
  if (begin) buckets_.ready(slab().gradients(), *begin, *begin + ParameterSlab::padded(gradient.numel()));
}

double ShardedOptimizer::gradient_norm() {
  slab().complete_gradients();
  buckets_.reduce(slab().gradients());
  double squares = 0;
  for (const auto& piece : pieces_) squares += piece->squared_norm;
  return std::sqrt(ranks_.sum(squares));
}

void ShardedOptimizer::update(const OptimizerStep& step) {
  buckets_.gather(slab().values(), [&](std::size_t piece) { pieces_[piece]->optimizer->apply(step); });
}

NamedTensors ShardedOptimizer::state() const {
  NamedTensors state;
  for (const auto& piece : pieces_) {
    for (auto& entry : piece->optimizer->state()) state.push_back(std::move(entry));
  }
  return state;
}

}  // namespace tapeformer
