// From a configuration to its model.
#pragma once

#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

// The token with which documents begin for a model that keeps to them (data.within_document): <|endoftext|>, which
// ended the document before. -1 for other models. Throws UsageError when the tokenizer has no such token.
std::int32_t document_token(const ResolvedConfig& config, const Tokenizer& tokenizer);

// The vocabulary of a language model, and of a model from sequences to sequences.
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& tokenizer);
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& source, const Tokenizer& target);

// The model that the configuration describes, its parameters not set yet. Throws UsageError when the family is for
// something else.
std::unique_ptr<LanguageModel> make_language_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary);
std::unique_ptr<SequenceToSequence> make_sequence_to_sequence(const ResolvedConfig& config,
                                                              const ModelVocabulary& vocabulary);

}  // namespace tapeformer
