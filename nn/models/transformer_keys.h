// The configuration keys that the families made of Transformer blocks share.
#pragma once

#include "core/keys.h"
#include "nn/layers/block_config.h"

namespace tapeformer {

// Which of the source embedding, the target embedding and the output matrix are one: none, the last two, or all.
enum class TiedEmbeddings { none, output, all };
template <>
struct Words<TiedEmbeddings> {
  static constexpr std::pair<TiedEmbeddings, std::string_view> list[] = {
      {TiedEmbeddings::none, "none"}, {TiedEmbeddings::output, "output"}, {TiedEmbeddings::all, "all"}};
};

// The key tie_embeddings of an encoder-decoder, which is "auto" by default, and what it stands for where source and
// target have a vocabulary in common or not. Throws UsageError for all without such a vocabulary.
Key pair_tied_key();
void resolve_pair_tied(KeyValues& options, bool joint);

// What differs between the families' defaults.
struct TransformerDefaults {
  NormPlace norm;
  ActivationKind activation;
  PositionKind position;
};

std::vector<Key> transformer_keys(const TransformerDefaults& defaults);
// Works out ff_dim and attention_dropout, and checks what the keys say about each other (ModelFamily::resolve).
void resolve_transformer_keys(KeyValues& options);
// The block that resolved options describe.
BlockConfig block_config(const KeyValues& options);
// What one layer's attention of each of T tokens to all T costs a token, in operations: 2·T·h·d for the scores and
// 2·T·h·d_v for the means of the values, which is 4·T·dim where the heads share dim out. Causal attention costs half.
double attention_flops(const KeyValues& options, std::int64_t length);

}  // namespace tapeformer
