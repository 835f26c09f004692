// The configuration keys that the families made of recurrent layers share, and their initial values.
#pragma once

#include "core/keys.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

std::vector<Key> recurrent_keys();
// The key for the width of token embeddings; 0 (the default) means `dim`.
Key embedding_dim_key();
// Computes the final values of embedding_dim and tie_embeddings, and checks them (ModelFamily::resolve).
void resolve_recurrent_keys(KeyValues& options);
// Returns the configuration that resolved options describe.
RecurrentConfig recurrent_config(const KeyValues& options);
bool ties_embeddings(const KeyValues& options);

// Initial values: a head is uniform in ±1/√dim, as torch.nn.Linear; an embedding is standard normal, as
// torch.nn.Embedding, unless it is tied to the head.
Init head_init(const RecurrentConfig& stack);
Init embedding_init(const RecurrentConfig& stack, bool tied);

}  // namespace tapeformer
