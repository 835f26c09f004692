// From a configuration to its model.
#pragma once

#include "nn/models/registry.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

// The family of model.type. Throws UsageError when there is none of that name.
const ModelFamily& model_family(const Config& config);
// The section [model] of a resolved configuration, for the family.
KeyValues model_options(const Config& config);

// The tokens of one row of a language model's training batch: the model's context.
std::int64_t row_tokens(const Config& config);

// The token with which documents begin for a model that keeps to them (data.within_document): <|endoftext|>, which
// ended the document before. -1 for other models. Throws UsageError when the tokenizer has no such token.
std::int32_t document_token(const Config& config, const Tokenizer& tokenizer);

// The vocabulary of a language model, and of a model from sequences to sequences.
ModelVocabulary model_vocabulary(const Config& config, const Tokenizer& tokenizer);
ModelVocabulary model_vocabulary(const Config& config, const Tokenizer& source, const Tokenizer& target);

// The model of a resolved configuration, its parameters not set yet. Throws UsageError when the family is for something
// else.
std::unique_ptr<LanguageModel> make_language_model(const Config& config, const ModelVocabulary& vocabulary);
std::unique_ptr<SequenceToSequence> make_sequence_to_sequence(const Config& config, const ModelVocabulary& vocabulary);

}  // namespace tapeformer
