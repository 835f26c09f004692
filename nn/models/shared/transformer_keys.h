// The configuration keys that the families made of Transformer blocks share.
#pragma once

#include "core/keys.h"
#include "nn/layers/block_config.h"

namespace tapeformer {

// The defaults that differ between families.
struct TransformerDefaults {
  NormPlace norm;
  ActivationKind activation;
  PositionKind position;
  NormKind norm_kind = NormKind::layer;
  bool bias = true;
};

std::vector<Key> transformer_keys(const TransformerDefaults& defaults);
// The key of families with causal self-attention: the number of tokens that a token sees.
Key attention_window_key();
// Replaces the placeholders of ff_dim (0), attention_dropout (-1), final_norm and the biases ("auto") by the values
// that they mean, and checks that the keys do not contradict each other (ModelFamily::resolve).
void resolve_transformer_keys(KeyValues& options);
// Returns the configuration of the block that resolved options describe.
BlockConfig block_config(const KeyValues& options);
// Returns the kind of positions that resolved options describe.
PositionConfig position_config(const KeyValues& options);
// Returns the factor of token embeddings that resolved options give; `automatic`, the family's own factor, for 0.
double embedding_scale(const KeyValues& options, double automatic);
// Returns the operations per token of one layer's attention of T tokens to all T tokens: 2·T·h·d for the scores and
// 2·T·h·d_v for the weighted sums of the values; 4·T·dim if h·d = h·d_v = dim.
double attention_flops(const KeyValues& options, std::int64_t length);
// Returns the operations per token of one layer's causal attention: half of attention_flops(), or with a window of w <
// T tokens the share w/T − w²/2T² of it. Linear attention costs 4·h·d·(d_v + 1), whatever T is: half of this updates
// the sums, and half reads them.
double causal_attention_flops(const KeyValues& options, std::int64_t length);

}  // namespace tapeformer
