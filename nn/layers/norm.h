// The normalisations that a block may use.
#pragma once

#include <memory>

#include "autograd/ops/layers.h"
#include "nn/layers/block_config.h"
#include "nn/module/module.h"

namespace tapeformer {

// Normalises vectors: x (…, dim) → (…, dim).
class Norm : public Module {
 public:
  virtual Variable forward(const Variable& x) const = 0;
  // Does the same for x (B, T, dim) whose row b has lengths[b] tokens (i32 (B); undefined: T) and then padding. A norm
  // that computes statistics over tokens leaves padding out.
  virtual Variable forward_rows(const Variable& x, const Tensor& lengths) const;
};

// γ·(x − μ)/√(σ² + ε) + β (Ba et al. 2016); the weight γ is initially one, the bias β zero.
class LayerNorm : public Norm {
 public:
  LayerNorm(std::int64_t dim, bool with_bias, double eps, DType dtype);
  Variable forward(const Variable& x) const override;

  Variable weight, bias;

 private:
  double eps_;
};

// γ·x/√(mean x² + ε) (Zhang & Sennrich 2019); the weight γ is initially one.
class RmsNorm : public Norm {
 public:
  RmsNorm(std::int64_t dim, double eps, DType dtype);
  Variable forward(const Variable& x) const override;

  Variable weight;

 private:
  double eps_;
};

// γ·(x − μ)/√(σ² + ε) + β over all tokens of a batch (Ioffe & Szegedy 2015); the weight γ is initially one, the bias β
// zero. Evaluation uses the running statistics, which training computes: the buffers running_mean and running_var
// (dim), initially zero and one.
class BatchNorm : public Norm {
 public:
  BatchNorm(std::int64_t dim, bool with_bias, double eps, DType dtype);
  Variable forward(const Variable& x) const override { return forward_rows(x, {}); }
  Variable forward_rows(const Variable& x, const Tensor& lengths) const override;

  Variable weight, bias;

 private:
  RunningStatistics running_;
  double eps_;
};

// Returns the norm of the configuration, of width dim; null if it has none.
std::unique_ptr<Norm> make_norm(const BlockConfig& config);
// Returns norm->forward_rows(x, lengths), or x itself if there is no norm.
Variable normalize(const std::unique_ptr<Norm>& norm, const Variable& x, const Tensor& lengths);

}  // namespace tapeformer
