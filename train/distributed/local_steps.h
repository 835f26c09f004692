// Training with rare communication, for slow networks: DiLoCo (Douillard et al. 2023).
#pragma once

#include "train/distributed/sharded_optimizer.h"

namespace tapeformer {

struct LocalStepsOptions {
  std::int64_t sync_every;    // H: the number of local steps between two outer steps
  double outer_lr, momentum;  // the learning rate and the momentum of the outer step
};

// Each rank steps with its own optimizer and its own gradients, which it clips itself. Every H steps begin from values
// θ that all ranks share; after them rank r has the values θ_r. Then an outer step of SGD with Nesterov momentum
// updates θ by the mean change Δ = 1/N Σ_r (θ − θ_r), and all ranks continue from the result. The outer momentum is
// sharded over the ranks; the states of the local optimizers stay on their ranks. Between two outer steps the values of
// the ranks differ. An outer step throws Error, on all ranks, if Δ is not finite.
class LocalStepsOptimizer : public Optimizer {
 public:
  // `make` makes the local optimizer; `ranks`, `precision` and `bucket` are as for ShardedOptimizer, which does the
  // outer step. Steps are counted from 1. Before step k·H + 1 the values of all ranks must be the same.
  LocalStepsOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                      const LocalStepsOptions& options, Communicator& ranks, CommPrecision precision,
                      std::int64_t bucket = 0);

  // Returns the state of the local optimizer, and that of the outer one under names that begin with "outer.".
  NamedTensors state() const override;

 private:
  void update(const OptimizerStep& step) override;
  void outer_step(std::int64_t step);

  const LocalStepsOptions options_;
  Communicator& ranks_;
  std::unique_ptr<Optimizer> local_;
  Tensor shared_;  // θ
  ParameterSlab outer_slab_;
  ShardedOptimizer outer_;
};

}  // namespace tapeformer
