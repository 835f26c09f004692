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
// Replaces the values of ff_dim, attention_dropout, final_norm and the biases that stand for others, and checks that
// the keys do not contradict each other (ModelFamily::resolve).
void resolve_transformer_keys(KeyValues& options);
// Returns the configuration of the block that resolved options describe.
BlockConfig block_config(const KeyValues& options);
// Returns the positions that they describe.
PositionConfig position_config(const KeyValues& options);
// Returns the factor of token embeddings that they describe; `automatic` is the family's own.
double embedding_scale(const KeyValues& options, double automatic);
// Returns the operations per token of one layer's attention of T tokens to all T tokens: 2·T·h·d for the scores and
// 2·T·h·d_v for the weighted sums of the values; 4·T·dim if h·d = h·d_v = dim.
double attention_flops(const KeyValues& options, std::int64_t length);
// Returns those of one layer's causal attention: half of them, or with a window of w < T tokens the part w/T − w²/2T².
// Linear attention costs 4·h·d·(d_v + 1), whatever T is: for the sums, and for what a token reads of them.
double causal_attention_flops(const KeyValues& options, std::int64_t length);

}  // namespace tapeformer
