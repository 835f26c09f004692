// Elementary layers: Linear, Embedding and Dropout.
#pragma once

#include "nn/module/module.h"

namespace tapeformer {

// y = x Wᵀ + b: x (…, in) → (…, out); weight (out, in); bias (out), initially zero. `role` is the role of the weight.
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool with_bias, const Init& init, DType dtype,
         const ParameterRole& role = ParameterKind::matrix);
  Variable forward(const Variable& x) const;

  Variable weight, bias;
};

// Looks up rows of a table, times a factor: ids i32 (…) → (…, dim); weight (rows, dim). Hooks see the rows.
class Embedding : public Module {
 public:
  Embedding(std::int64_t rows, std::int64_t dim, const Init& init, DType dtype);
  Variable forward(const Variable& ids, double factor = 1) const;

  Variable weight;
};

// Zeroes elements with probability p while training.
class Dropout : public Module {
 public:
  explicit Dropout(double p) : p_(p) {}
  Variable forward(const Variable& x) const;

 private:
  double p_;
};

}  // namespace tapeformer
