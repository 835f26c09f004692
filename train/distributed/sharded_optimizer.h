// An optimizer whose work and state are sharded over the ranks: ZeRO stage 1 (Rajbhandari et al. 2020).
#pragma once

#include <memory>
#include <vector>

#include "nn/optim/optimizers.h"
#include "train/distributed/gradient_buckets.h"

namespace tapeformer {

// The units that a piece must contain as a whole: matrices, if the optimizer's unit is the matrix; in all other
// parameters, blocks of `block` elements.
struct ShardUnits {
  OptimizerUnit unit = OptimizerUnit::element;
  std::int64_t block = 1;
};

// A step reduce-scatters the gradients, updates this rank's pieces of the parameters, each by its own optimizer, and
// all-gathers the new values. So each rank keeps 1/N of the state, and state() returns that part. All ranks return the
// same norm, and have the same values afterwards. Gradients travel while backward still runs if its tape has the
// gradient_observer().
class ShardedOptimizer : public Optimizer {
 public:
  // `make` makes the optimizer of a piece, which has whole matrices and whole blocks if `units` require it; `clip` is
  // the largest norm of all gradients together. `bucket` is the parameter of GradientBuckets. Keeps references to the
  // slab and the ranks.
  ShardedOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make, Communicator& ranks,
                   CommPrecision precision, std::int64_t bucket = 0, const ShardUnits& units = {});

  double gradient_norm() override;
  const GradientObserver* gradient_observer() override { return &observer_; }
  NamedTensors state() const override;

 private:
  void update(const OptimizerStep& step) override;
  void gradient_is_ready(const Tensor& gradient);

  struct Piece {
    Piece(ParameterSlab part, const MakeOptimizer& make) : slab(std::move(part)), optimizer(make(slab)) {}
    ParameterSlab slab;
    std::unique_ptr<Optimizer> optimizer;
    double squared_norm = 0;  // of the summed gradients
  };
  Communicator& ranks_;
  GradientBuckets buckets_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  const GradientObserver observer_ = [this](const Tensor& gradient) { gradient_is_ready(gradient); };
};

}  // namespace tapeformer
