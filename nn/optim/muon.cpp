#include <algorithm>
#include <cmath>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/optim/newton_schulz.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "nn/optim/adam.h"
#include "nn/optim/optimizer_rows.h"

namespace tapeformer {
namespace {

// Muon (Jordan et al. 2024) for hidden matrices, and AdamW for all other parameters. With g = gradient_scale·grad:
//   m = momentum·m + g;  x = g + momentum·m with nesterov, else m
//   w = w − lr·weight_decay·w − lr·√max(1, rows/columns)·orthogonalize(x)
// Matrices that are stacked in one parameter (queries, keys and values; gates) are updated separately, because singular
// values belong to one linear map. The products here have the same precision as the other products of the step.
class Muon : public Optimizer {
 public:
  Muon(const ParameterSlab& slab, const KeyValues& options);

  NamedTensors state() const override;

 private:
  void update(const OptimizerStep& step) override;
  template <class T>
  void update_matrix(std::size_t i, const OptimizerStep& step) const;

  struct Matrix {
    std::size_t parameter;  // its index among the parameters of momentum_
    std::int64_t first;     // the index of its first element in the parameter
    std::int64_t rows, cols;
    double rate;  // the factor of the learning rate
  };
  // A run of neighbouring parameters that are not matrices.
  struct Others {
    Others(ParameterSlab part, const KeyValues& options)
        : slab(std::move(part)), optimizer(slab, options, AdamDecay::decoupled) {}
    ParameterSlab slab;
    Adam optimizer;
  };

  double beta_, weight_decay_;
  bool nesterov_;
  double adamw_rate_;  // AdamW's learning rate, as a multiple of the step's
  std::vector<Matrix> matrices_;
  MomentSlab momentum_;  // empty without matrices
  std::vector<std::unique_ptr<Others>> others_;
};

bool is_matrix(const ParameterSlab::Part& part) { return part.role.kind == ParameterKind::matrix; }

Muon::Muon(const ParameterSlab& slab, const KeyValues& options)
    : Optimizer(slab, options.number("clip")),
      beta_(options.number("momentum")),
      weight_decay_(options.number("weight_decay")),
      nesterov_(options.boolean("nesterov")),
      adamw_rate_(options.number("lr") > 0 ? options.number("adamw_lr") / options.number("lr") : 0) {
  check(adamw_rate_ > 0 || options.number("adamw_lr") == 0,
        "optimizer.lr: expected above 0 beside optimizer.adamw_lr, which is a rate for the same schedule, got 0");
  const std::vector<ParameterSlab::Part>& parts = slab.parts();
  if (std::ranges::any_of(parts, is_matrix)) {
    momentum_ = add_moment("momentum", state_format(options), /*has_sign=*/true, is_matrix);
  }
  std::size_t parameter = 0;
  for (auto part = parts.begin(); part != parts.end();) {
    if (!is_matrix(*part)) {
      const std::int64_t begin = part->begin;
      part = std::find_if(part, parts.end(), is_matrix);
      const std::int64_t end = part == parts.end() ? slab.values().numel() : part->begin;
      others_.push_back(std::make_unique<Others>(slab.part(begin, end, slab.values(), slab.gradients()), options));
      continue;
    }
    // The kernels of a convolution, (out, in, k, k), are the matrix (out, in·k·k).
    std::int64_t cols = 1;
    for (int axis = 1; axis < part->sizes.rank(); ++axis) cols *= part->sizes[axis];
    std::vector<std::int64_t> heights = part->role.heights;
    if (heights.empty()) heights = {part->sizes[0]};
    std::int64_t first = 0;
    for (const std::int64_t rows : heights) {
      matrices_.push_back({parameter, first, rows, cols, part->rate});
      first += rows * cols;
    }
    ++parameter;
    ++part;
  }
}

void Muon::update(const OptimizerStep& step) {
  if (momentum_.is_reduced()) {
    kernels::accumulate_momentum(momentum_.reduced(), slab().gradients().data<float>(), static_cast<float>(beta_),
                                 static_cast<float>(step.gradient_scale), layout(momentum_, step));
  }
  const kernels::MatmulPrecision precision = kernels::MatmulPrecisionScope::current();
  // One thread computes all products of a matrix, so that the bits do not depend on the number of threads. For a single
  // matrix, an empty second chunk makes the loop parallel, and products inside a parallel loop use one thread.
  const std::int64_t count = std::ssize(matrices_), chunks = count == 1 ? 2 : count;
  dispatch_floating(slab().values().dtype(), [&]<class T>(T) {
    parallel_for(0, chunks, 1, [&](std::int64_t i, std::int64_t) {
      const kernels::MatmulPrecisionScope scope(precision);
      if (i < count) update_matrix<T>(i, step);
    });
  });
  OptimizerStep other = step;
  other.lr *= adamw_rate_;
  for (const auto& others : others_) others->optimizer.apply(other);
}

template <class T>
void Muon::update_matrix(std::size_t i, const OptimizerStep& step) const {
  const auto& [parameter, first, rows, cols, rate] = matrices_[i];
  const kernels::StateRange& range = momentum_.ranges[parameter];
  const std::int64_t size = rows * cols, begin = range.begin + first;
  const auto beta = static_cast<T>(beta_), scale = static_cast<T>(step.gradient_scale);
  T* const w = slab().values().data<T>() + begin;
  const T* const gradient = slab().gradients().data<T>() + begin;
  const kernels::Scratch<T> x(size);
  T* m = x.data();
  if (momentum_.is_reduced()) {
    if constexpr (std::is_same_v<T, float>) {
      kernels::decode_state(m, momentum_.reduced(), range, first, size);
    }
  } else {
    m = momentum_.values.data<T>() + range.state_begin + first;
    kernels::axpby(m, scale, gradient, beta, size);
  }
  kernels::axpby(x.data(), nesterov_ ? beta : T{1}, m, T{0}, size);
  if (nesterov_) kernels::axpby(x.data(), scale, gradient, T{1}, size);
  kernels::orthogonalize(x.data(), rows, cols);
  const double lr = step.lr * rate, aspect = static_cast<double>(rows) / static_cast<double>(cols);
  kernels::axpby(w, static_cast<T>(-lr * std::sqrt(std::max(1.0, aspect))), x.data(),
                 static_cast<T>(1 - lr * weight_decay_), size);
}

NamedTensors Muon::state() const {
  NamedTensors state = Optimizer::state();
  for (const auto& others : others_) {
    for (auto& entry : others->optimizer.state()) state.push_back(std::move(entry));
  }
  return state;
}

std::vector<Key> muon_keys() {
  std::vector<Key> keys{
      {"momentum", 0.95, "share of the last update that the next one keeps", fraction()},
      {"nesterov", true, "Nesterov's form of momentum"},
      {"adamw_lr", 1e-3,
       "peak learning rate of embeddings, heads, biases and norms, which AdamW updates (optimizer.lr is that of hidden "
       "matrices, about 0.02)",
       at_least(0)}};
  for (Key& key : adam_keys(0.1)) keys.push_back(std::move(key));
  return keys;
}

}  // namespace

OptimizerRow muon_row() {
  return {.name = "muon",
          .help = "momentum made orthogonal for hidden matrices, AdamW for the rest (Jordan et al. 2024)",
          .keys = muon_keys(),
          .state_slabs = [](const KeyValues&, ParameterKind kind) { return kind == ParameterKind::matrix ? 1 : 2; },
          .make = [](const ParameterSlab& slab, const KeyValues& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Muon>(slab, options);
          },
          .unit = OptimizerUnit::matrix};
}

}  // namespace tapeformer
