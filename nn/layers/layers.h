// Elementary layers: Linear, Embedding and Dropout.
#pragma once

#include "autograd/ops/helpers/products.h"
#include "nn/layers/lora.h"
#include "nn/module/module.h"

namespace tapeformer {

// y = x Wᵀ + b: x (…, in) → (…, out); weight (out, in); bias (out), initially zero. `role` is the role of the weight.
// With an adapter, y = x Wᵀ + b + (α/r)·(dropout(x) Aᵀ) Bᵀ (lora.h).
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool with_bias, const Init& init, DType dtype,
         const ParameterRole& role = ParameterKind::matrix);
  Variable forward(const Variable& x) const;

  // Adds an adapter to the stacked matrices with these indices (ParameterRole); {0} for a layer of one matrix.
  void add_adapter(const LoraOptions& options, const std::vector<std::size_t>& matrices);
  bool has_adapter() const { return lora_.a.defined(); }
  // Adds the adapter's change to the weight, and removes the adapter. Does nothing without one.
  void merge_adapter();
  // Returns the adapter; its A and B are undefined without one.
  const LoraWeights& adapter() const { return lora_; }
  // Returns the weight with the adapter's change, which shares no memory with the weight unless there is no adapter.
  Tensor merged_weight() const;
  bool is_head() const { return role_.kind == ParameterKind::head; }

  Variable weight, bias;

 private:
  ParameterRole role_;
  LoraWeights lora_;
  double lora_dropout_ = 0;
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
