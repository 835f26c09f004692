// From the configuration's words to the model's types.
#pragma once

#include "nn/models/gpt.h"
#include "nn/models/transformer.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

// The token with which documents begin for a model that keeps to them (data.within_document): <|endoftext|>, which
// ended the one before. -1 for the others. Throws UsageError where the tokenizer has none.
std::int32_t document_token(const Config& config, const Tokenizer& tokenizer);
// The decoder-only model of a resolved configuration, whose model.type is gpt.
GptConfig gpt_config(const Config& config, const Tokenizer& tokenizer);
// The same of any tokenizer of this size, for its parameters: it keeps to no documents.
GptConfig gpt_config(const Config& config, std::int64_t vocab);
// The encoder-decoder of one whose model.type is transformer.
TransformerConfig transformer_config(const Config& config, std::int64_t source_vocab, std::int64_t target_vocab);

}  // namespace tapeformer
