// The configuration keys that the recurrent families share, and the initial values of their parameters.
#pragma once

#include "core/keys.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

std::vector<Key> recurrent_keys();
// Returns the key for the width of token embeddings; 0 (the default) means `dim`.
Key embedding_dim_key();
// Replaces embedding_dim 0 by dim and tie_embeddings "all" by "output", and checks both (ModelFamily::resolve).
void resolve_recurrent_keys(KeyValues& options);
// Returns the configuration that resolved options describe.
RecurrentConfig recurrent_config(const KeyValues& options);

// Return the initial values of a head, uniform in ±1/√dim as in torch.nn.Linear, and of an embedding: standard normal
// as in torch.nn.Embedding, or those of the head if it is tied to it.
Init head_init(const RecurrentConfig& stack);
Init embedding_init(const RecurrentConfig& stack, bool tied);

}  // namespace tapeformer
