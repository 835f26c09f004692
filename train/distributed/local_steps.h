// Rare communication, for slow networks: DiLoCo (Douillard et al. 2023).
#pragma once

#include "train/distributed/sharded_optimizer.h"

namespace tapeformer {

struct LocalStepsOptions {
  std::int64_t sync_every;    // H: local steps between two outer ones
  double outer_lr, momentum;  // of the outer step
};

// Each rank steps by an optimizer of its own, with its own gradients, which it clips itself. After every H steps from
// values θ that all share, where rank r has come to θ_r, all go on from an outer step of Nesterov's SGD at θ by the
// mean change Δ = 1/N Σ_r (θ − θ_r). Its momentum is dealt out to the ranks; the moments of the local optimizers stay
// where they are. Between two outer steps the values of the ranks differ.
class LocalStepsOptimizer : public Optimizer {
 public:
  // `make` makes the local optimizer. Other parameters as ShardedOptimizer takes them. Steps are counted from 1; the
  // one after a multiple of H begins from values that all ranks share.
  LocalStepsOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                      const LocalStepsOptions& options, Communicator& ranks, CommPrecision precision,
                      std::int64_t bucket = 0);

  // That of the local optimizer, and the outer one's with "outer." before the names.
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
