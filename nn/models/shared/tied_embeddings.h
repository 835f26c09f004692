// Which embeddings and heads share their weights, and the configuration key that sets it.
#pragma once

#include <string_view>
#include <utility>

#include "core/keys.h"

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

}  // namespace tapeformer
