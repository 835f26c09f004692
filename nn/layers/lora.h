// Adapters of low rank in a model's linear layers (LoRA, Hu et al. 2021): y = x Wᵀ + b + (α/r)·(dropout(x) Aᵀ) Bᵀ.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/ops/helpers/products.h"
#include "nn/module/module.h"

namespace tapeformer {

struct LoraOptions {
  std::int64_t rank = 0;  // r; 0: no adapters
  double alpha = 16;
  double dropout = 0;
  // The layers that get adapters: the last parts of their names, such as "qkv", or a matrix that such a layer stacks,
  // such as "q". Empty: all linear layers but heads.
  std::vector<std::string> targets = {};
};

// Freezes all parameters of the model, and adds adapters to its linear layers: parameters lora_a (parts·r, in), uniform
// in ±1/√in as in PEFT, and lora_b (out, r), zero. A layer that stacks matrices, such as qkv, has an A for each. Throws
// UsageError for a target that names no linear layer. Does nothing if the rank is 0.
void add_adapters(Module& model, const LoraOptions& options);

// Rounds the frozen weights of linear layers to bf16, which halves their memory. Products with MatmulPrecision::medium
// round weights anyway, so their results stay the same to the bit.
void round_frozen_weights(const Module& model);

// Adds the changes of all adapters to the weights, and removes the adapters. The parameters stay frozen.
void merge_adapters(Module& model);

// Returns the adapters of the model by the names of their layers.
std::map<std::string, LoraWeights> adapters_of(const Module& model);

// Whether this is the name of an adapter's parameter.
bool is_adapter(std::string_view parameter);

// The names of the matrices that a linear layer with this name stacks along its rows, such as q, k and v of qkv; empty
// if it is one matrix.
std::vector<std::string_view> stacked_names(std::string_view layer);

}  // namespace tapeformer
