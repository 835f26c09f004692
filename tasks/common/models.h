// Makes models from configurations.
#pragma once

#include "data/text/text_source.h"
#include "nn/models/registry.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

// The first token of every document for a model that attends only within documents (data.within_document):
// <|endoftext|>, the end of the document before. -1 for other models. Throws UsageError when the tokenizer has no such
// token.
std::int32_t document_token(const ResolvedConfig& config, const Tokenizer& tokenizer);

// How this configuration reads text files.
TextOptions text_options(const ResolvedConfig& config);

// The vocabularies of a model of plain text, and of one of parallel text.
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& tokenizer);
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& source, const Tokenizer& target);

// These functions make the model that the configuration describes, its parameters not initialized yet. They throw
// UsageError when its family makes none of this kind.
std::unique_ptr<CausalModel> make_causal_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary);
std::unique_ptr<EncoderDecoder> make_encoder_decoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary);
// Makes a model whose family is trained for `task`, without heads.
std::unique_ptr<Model> make_model_for(std::string_view task, const ResolvedConfig& config,
                                      const ModelVocabulary& vocabulary);
// Makes a model that gives tokens vectors, with the heads with which its family is trained (TaskHeads).
std::unique_ptr<Model> make_model_with_heads(const ResolvedConfig& config, const ModelVocabulary& vocabulary);

}  // namespace tapeformer
