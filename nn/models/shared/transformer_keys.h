// The configuration keys that the families made of Transformer blocks share.
#pragma once

#include "core/keys.h"
#include "nn/layers/block_config.h"

namespace tapeformer {

// Which of the source embedding, the target embedding and the output matrix are tied: none, the last two, or all.
enum class TiedEmbeddings { none, output, all };
template <>
struct Words<TiedEmbeddings> {
  static constexpr std::pair<TiedEmbeddings, std::string_view> list[] = {
      {TiedEmbeddings::none, "none"}, {TiedEmbeddings::output, "output"}, {TiedEmbeddings::all, "all"}};
};

// pair_tied_key() is the key tie_embeddings of an encoder-decoder, "auto" by default. resolve_pair_tied() replaces
// "auto" by a value that depends on `joint`: whether source and target share a vocabulary. It throws UsageError for
// "all" without a shared vocabulary.
Key pair_tied_key();
void resolve_pair_tied(KeyValues& options, bool joint);

// The key tie_embeddings of a model with one embedding and one head. resolve_tied() replaces "all" by "output", which
// means the same there.
Key tied_key(TiedEmbeddings default_value);
void resolve_tied(KeyValues& options);
// Returns whether the head of resolved options has the weights of an embedding.
bool ties_embeddings(const KeyValues& options);

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
