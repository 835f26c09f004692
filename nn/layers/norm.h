// The normalisations that a block may use.
#pragma once

#include <memory>

#include "nn/layers/block_config.h"
#include "nn/module/module.h"

namespace tapeformer {

// Normalises over the last axis: x (…, dim) → (…, dim).
class Norm : public Module {
 public:
  virtual Variable forward(const Variable& x) const = 0;
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

// Returns the norm of the configuration, of width dim; null if it has none.
std::unique_ptr<Norm> make_norm(const BlockConfig& config);
// Returns the norm of x, or x itself if there is no norm.
Variable normalize(const std::unique_ptr<Norm>& norm, const Variable& x);

}  // namespace tapeformer
