// Finds the heads of a model's attention layers, and ablates them: removes what they add to the residual stream.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/module/module.h"

namespace tapeformer {

// Says where a head is in a model. `stack` is "self" in a model with one stack of layers, and "encoder", "decoder" or
// "cross" in an encoder-decoder, where "cross" is the attention of the decoder to the encoder's output. Layers and
// heads count from 0.
struct HeadIndex {
  std::string stack;
  std::int64_t layer = 0, head = 0;

  bool operator==(const HeadIndex&) const = default;
};

// Returns "LAYER.HEAD" for the stack "self", else "STACK.LAYER.HEAD".
std::string head_name(const HeadIndex& index);
// Returns all heads of the model in the order of its modules; none for a model without multi-head attention.
std::vector<HeadIndex> all_heads(const Module& model);
// Returns the head of this name. Throws UsageError if the model has no such head.
HeadIndex find_head(const Module& model, std::string_view name);

// Makes the heads add nothing to the residual stream: their columns of W_O become 0, and its bias stays. The model's
// weights must not be bf16.
void remove_heads(const Module& model, std::span<const HeadIndex> heads);

// Removes heads as remove_heads() does. The destructor restores the weights to the bit.
class HeadAblation {
 public:
  HeadAblation(const Module& model, std::span<const HeadIndex> heads);
  ~HeadAblation();
  HeadAblation(const HeadAblation&) = delete;
  HeadAblation& operator=(const HeadAblation&) = delete;

 private:
  std::vector<Tensor> columns_, values_;  // views of the weights, and copies of what they held
};

}  // namespace tapeformer
