// The Transformer's blocks, and a stack of them.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "nn/attention/attention.h"
#include "nn/layers/norm.h"
#include "nn/layers/positions.h"

namespace tapeformer {

// act(x W₁ᵀ + b₁) W₂ᵀ + b₂: x (…, dim) → (…, dim). With a gated activation, W₁ has 2·ff_dim rows (parameters
// gate_up.weight and gate_up.bias): the first half computes the gate, and the second half what the gate multiplies.
class FeedForward : public Module {
 public:
  explicit FeedForward(const BlockConfig& config);
  // If the caller moves x in, x can be freed as soon as the first product is computed.
  Variable forward(Variable x) const;

  Linear up, down;

 private:
  ActivationKind activation_;
};

// The inputs of a block other than x: the mask, the positions, and the encoder's output.
struct BlockContext {
  SelfMask mask = {};
  Tensor lengths = {};  // i32 (B): tokens of each row before its padding (Norm::forward_rows()); undefined: no padding
  Positions positions = {};
  Rotation rotation = {};                     // the rotation for these positions; a BlockStack computes it
  std::optional<EncoderOutput> encoded = {};  // for blocks with cross-attention
  FirstLayerValues first_values = {};         // for blocks with a value residual; a BlockStack gives them
};

// What one block has cached: of the tokens so far, the keys and values (`self`) or the sums of linear attention
// (`linear`); of the encoder's output, the keys and values (`cross`).
struct BlockCache {
  KeyValueCache self, cross{0};
  LinearAttentionCache linear = {};
  std::int64_t length() const { return self.length() + linear.length(); }
};

// A block has up to three sublayers: self-attention, cross-attention if `cross`, and a feed-forward layer unless there
// is none. Each sublayer has dropout, a residual connection and a norm, which comes before or after it as configured.
class Block : public Module {
 public:
  explicit Block(const BlockConfig& config, bool cross = false);
  Variable forward(const Variable& x, const BlockContext& context = {}, BlockCache* cache = nullptr) const;

 private:
  Variable run(const Variable& x, const BlockContext& context, BlockCache* cache) const;
  // Returns x + dropout(sub(norm(x))) with pre-norm, norm(x + dropout(sub(x))) with post-norm; without residual
  // connections, dropout(sub(norm(x))) or norm(dropout(sub(x))).
  template <class Sub>
  Variable sublayer(const Variable& x, const std::unique_ptr<Norm>& norm, const Tensor& lengths, const Sub& sub) const;

  std::unique_ptr<Norm> attention_norm_;  // this norm and the others: null without norms
  MultiHeadAttention attention_;
  std::unique_ptr<Norm> cross_attention_norm_;
  std::unique_ptr<CrossAttention> cross_attention_;
  std::unique_ptr<Norm> feed_forward_norm_;
  std::unique_ptr<FeedForward> feed_forward_;
  NormPlace norm_place_;
  bool residual_;
  Dropout dropout_;
};

// The cache of a model whose layers are a stack of blocks.
class StackCache : public Cache {
 public:
  explicit StackCache(std::vector<BlockCache> caches) : blocks(std::move(caches)) {}
  void clear() override;
  void select(std::span<const std::int64_t> rows) override;
  // Returns for each block I: blocks.I.self.keys (B, g, length, d), blocks.I.self.values (B, g, length, d_v), and with
  // cross-attention blocks.I.cross.keys and blocks.I.cross.values; with linear attention, blocks.I.linear.sums (B, g,
  // d, d_v + 1) in place of blocks.I.self.keys and blocks.I.self.values.
  NamedTensors tensors() const override;
  // The number of tokens that were read.
  std::int64_t length() const { return blocks.front().length(); }

  std::vector<BlockCache> blocks;  // one for each block
};

// The name under which a BlockStack passes to its tape's observer (TapeOptions) what it would return if it ended after
// each layer, (R, T, dim): its input, then the output of each block, all after the final norm.
inline constexpr std::string_view kLayerFeatures = "block_stack.features";

// A sequence of blocks. By default, pre-norm blocks are followed by a final norm; post-norm blocks end with a norm
// anyway.
class BlockStack : public Module {
 public:
  // If residual_init is normal, its standard deviation is divided by the square root of the number of residual
  // additions (GPT-2).
  BlockStack(const BlockConfig& config, std::int64_t layers, const PositionConfig& position, bool cross = false);
  // x (B, T, dim) → (B, T, dim). With a cache, x continues the cached tokens. On a tape with options.recompute,
  // backward recomputes each block except the last, and with a value residual also except the first, whose values the
  // other blocks read; the stack must then live until backward. If `layers` is given, the output of each block is
  // appended to it, that of the last block after the final norm.
  Variable forward(const Variable& x, const BlockContext& context = {}, StackCache* cache = nullptr,
                   std::vector<Variable>* layers = nullptr) const;
  // Returns an empty cache for `length` tokens, and for `encoded_length` tokens of the encoder's output.
  std::unique_ptr<StackCache> make_cache(std::int64_t length, std::int64_t encoded_length = 0) const;

 private:
  Variable run(const Variable& x, const BlockContext& context, StackCache* cache, std::vector<Variable>* layers) const;
  // Passes x, after the final norm, to the tape's observer as kLayerFeatures.
  void show_features(const Variable& x) const;

  std::optional<Rotary> rotary_;  // nullopt: positions are not rotary
  std::int64_t attention_window_;
  std::int64_t head_dim_;
  bool value_residual_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<Norm> final_norm_;  // null: none
};

}  // namespace tapeformer
