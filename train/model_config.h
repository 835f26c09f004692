// From the configuration's words to the model's types.
#pragma once

#include "nn/models/gpt.h"
#include "nn/models/transformer.h"
#include "train/config.h"

namespace tapeformer {

// The decoder-only model of a resolved configuration, whose model.type is gpt.
GptConfig gpt_config(const Config& config, std::int64_t vocab);
// The encoder-decoder of one whose model.type is transformer.
TransformerConfig transformer_config(const Config& config, std::int64_t source_vocab, std::int64_t target_vocab);

}  // namespace tapeformer
