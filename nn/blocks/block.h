// The Transformer's blocks, and a stack of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/attention/attention.h"
#include "nn/layers/norm.h"
#include "nn/layers/positions.h"

namespace tapeformer {

// act(x W1 + b1) W2 + b2: x (…, dim) → (…, dim). Where the activation is gated, the rows of W1 are those of the gate,
// then those of what it multiplies (the parameters gate_up.weight and gate_up.bias).
class FeedForward : public Module {
 public:
  explicit FeedForward(const BlockConfig& config);
  // A caller that moves x in lets it be freed as soon as the first product is computed.
  Variable forward(Variable x) const;

  Linear up, down;

 private:
  ActivationKind activation_;
};

// What the blocks of a stack are told about their tokens, and what their attention may look at.
struct BlockContext {
  SelfMask mask = {};
  Positions positions = {};
  Rotation rotation = {};                     // by those positions; a BlockStack works it out
  std::optional<EncoderOutput> encoded = {};  // for the blocks that have cross-attention
};

// Keys and values that one block has cached: those of the tokens so far, and those of the encoder's output.
struct BlockCache {
  KeyValueCache self, cross{0};
};

// Self-attention, cross-attention where asked for, and feed-forward, each with dropout, residual and norm in the place
// that the configuration says.
class Block : public Module {
 public:
  explicit Block(const BlockConfig& config, bool cross = false);
  Variable forward(const Variable& x, const BlockContext& context = {}, BlockCache* cache = nullptr) const;

 private:
  Variable run(const Variable& x, const BlockContext& context, BlockCache* cache) const;
  // x + dropout(sub(norm(x))), or norm(x + dropout(sub(x))).
  template <class Sub>
  Variable residual(const Variable& x, const Norm& norm, const Sub& sub) const;

  std::unique_ptr<Norm> attention_norm_;
  MultiHeadAttention attention_;
  std::unique_ptr<Norm> cross_attention_norm_;
  std::unique_ptr<CrossAttention> cross_attention_;
  std::unique_ptr<Norm> feed_forward_norm_;
  FeedForward feed_forward_;
  NormPlace norm_place_;
  Dropout dropout_;
};

// One for each block of a stack.
using StackCache = std::vector<BlockCache>;

// Blocks one after another. With pre-norm blocks a last norm follows; post-norm blocks end with one anyway.
class BlockStack : public Module {
 public:
  // Where residual_init is normal, its deviation is divided by the root of the number of residual additions (GPT-2).
  BlockStack(const BlockConfig& config, std::int64_t layers, bool cross = false);
  // x (B, T, dim) → (B, T, dim). With a cache, x continues the cached tokens. Each block but the last is recomputed on
  // a tape of options.recompute; the stack must live until backward then. Where `layers` is given, the output of each
  // block is added to it, that of the last one after the final norm.
  Variable forward(const Variable& x, const BlockContext& context = {}, StackCache* cache = nullptr,
                   std::vector<Variable>* layers = nullptr) const;
  // An empty cache with room for `length` tokens, and for `encoded_length` tokens of the encoder's output.
  StackCache make_cache(std::int64_t length, std::int64_t encoded_length = 0) const;

 private:
  Variable run(const Variable& x, const BlockContext& context, StackCache* cache, std::vector<Variable>* layers) const;

  std::optional<Rotary> rotary_;
  std::int64_t head_dim_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<Norm> final_norm_;
};

}  // namespace tapeformer
