// The configuration keys that the recurrent families share, and the initial values of their parameters.
#pragma once

#include "core/keys.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

std::vector<Key> recurrent_keys();
// Returns the key for the width of token embeddings; 0 (the default) means `dim`.
Key embedding_dim_key();
// The key forget_bias of a model that may have other cells than LSTMs (the key cell).
Key forget_bias_key();
// Replaces embedding_dim 0 by dim and tie_embeddings "all" by "output", and checks both (ModelFamily::resolve).
void resolve_recurrent_keys(KeyValues& options);
// Returns the configuration that resolved options describe.
RecurrentConfig recurrent_config(const KeyValues& options);

// Returns the initial values of a head that reads the states: uniform in ±1/√dim as in torch.nn.Linear.
Init head_init(const RecurrentConfig& stack);
// Returns the initial values of an embedding: standard normal as in torch.nn.Embedding or, if it is tied to a head that
// reads vectors of width `head_width`, those of the head.
Init embedding_init(bool tied, std::int64_t head_width);

}  // namespace tapeformer
