// The configuration keys that the families made of recurrent layers share, and their initial values.
#pragma once

#include "core/keys.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

std::vector<Key> recurrent_keys();
// The width of token embeddings, which is `dim` unless it is given.
Key embedding_dim_key();
// Works out embedding_dim and tie_embeddings, and checks them (ModelFamily::resolve).
void resolve_recurrent_keys(KeyValues& options);
// What resolved options describe.
RecurrentConfig recurrent_config(const KeyValues& options);
bool ties_embeddings(const KeyValues& options);

// A head begins as PyTorch's Linear does, uniform in ±1/√dim; an embedding normal as torch.nn.Embedding, unless it is
// the head as well.
Init head_init(const RecurrentConfig& stack);
Init embedding_init(const RecurrentConfig& stack, bool tied);

}  // namespace tapeformer
