#include "train/distributed/sharded_optimizer.h"

#include <cmath>

namespace tapeformer {
namespace {

// Returns the ranges of the slab that may be divided only at the ends of units.
std::vector<GradientBuckets::Range> whole_ranges(const ParameterSlab& slab, const ShardUnits& units) {
  std::vector<GradientBuckets::Range> whole;
  for (const ParameterSlab::Part& part : slab.parts()) {
    const bool is_whole = units.unit == OptimizerUnit::matrix && part.role.kind == ParameterKind::matrix;
    const std::int64_t size = ParameterSlab::padded(part.size);
    if (is_whole || units.block > 1) whole.push_back({part.begin, part.begin + size, is_whole ? size : units.block});
  }
  return whole;
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                                   Communicator& ranks, CommPrecision precision, std::int64_t bucket,
                                   const ShardUnits& units)
    : Optimizer(slab, clip),
      ranks_(ranks),
      buckets_(
          slab.values().numel(), slab.values().dtype(), ranks, precision,
          [this](std::size_t i) { pieces_[i]->squared_norm = pieces_[i]->optimizer->squared_norm(); }, bucket,
          whole_ranges(slab, units)) {
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
  buckets_.gather(slab().values(), [&](std::size_t piece) { pieces_[piece]->optimizer->apply_update(step); });
  // The average is of the weights that all ranks have, so of those after the rounding of what travels.
  for (const auto& piece : pieces_) piece->optimizer->add_to_average(step.step);
}

NamedTensors ShardedOptimizer::state() const {
  NamedTensors state;
  for (const auto& piece : pieces_) {
    for (auto& entry : piece->optimizer->state()) state.push_back(std::move(entry));
  }
  return state;
}

}  // namespace tapeformer
