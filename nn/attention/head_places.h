// Finds the heads of a model's attention layers by their places, and switches heads off.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/module/module.h"

namespace tapeformer {

// The place of a head in a model. `stack` is "self" in a model with one stack of layers, and "encoder", "decoder" or
// "cross" in an encoder-decoder, where "cross" is the attention of the decoder to the encoder's output. Layers and
// heads count from 0.
struct HeadPlace {
  std::string stack;
  std::int64_t layer = 0, head = 0;

  bool operator==(const HeadPlace&) const = default;
};

// Returns "LAYER.HEAD" for the stack "self", else "STACK.LAYER.HEAD".
std::string head_name(const HeadPlace& place);
// Returns all heads of the model in the order of its modules; none for a model without multi-head attention.
std::vector<HeadPlace> head_places(const Module& model);
// Returns the head of this name. Throws UsageError if the model has no such head.
HeadPlace find_head(const Module& model, std::string_view name);

// Makes the heads add nothing to the residual stream: their columns of W_O become 0, and its bias stays. The model's
// weights must not be bf16.
void remove_heads(const Module& model, std::span<const HeadPlace> places);

// Removes heads like remove_heads(). The destructor restores the weights to the bit.
class HeadsOff {
 public:
  HeadsOff(const Module& model, std::span<const HeadPlace> places);
  ~HeadsOff();
  HeadsOff(const HeadsOff&) = delete;
  HeadsOff& operator=(const HeadsOff&) = delete;

 private:
  std::vector<Tensor> columns_, values_;  // views of the weights, and copies of what they held
};

}  // namespace tapeformer
