#include "train/config/model_config.h"

#include "core/error.h"
#include "data/text/text_source.h"

namespace tapeformer {
namespace {

template <class Maker>
const Maker& maker_of(const ModelFamily& family, const char* expected) {
  const Maker* maker = std::get_if<Maker>(&family.make);
  if (!maker) fail_usage("model.type: expected ", expected, ", got ", family.name, ", which is none");
  return *maker;
}

}  // namespace

std::int32_t document_token(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  if (!config.data.within_document) return -1;
  const std::optional<std::int32_t> token = tokenizer.special(kEndOfText);
  if (!token) fail_usage("data.within_document: expected a tokenizer with the token ", kEndOfText, ", got one without");
  return *token;
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  const std::int64_t size = tokenizer.vocab_size();
  return {.source = size, .target = size, .document_token = document_token(config, tokenizer)};
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& source, const Tokenizer& target) {
  return {.source = source.vocab_size(), .target = target.vocab_size(), .joint = config.tokenizer.joint};
}

std::unique_ptr<LanguageModel> make_language_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return maker_of<LanguageModelMaker>(config.family(), "a language model")(config.model.options, vocabulary);
}

std::unique_ptr<SequenceToSequence> make_sequence_to_sequence(const ResolvedConfig& config,
                                                              const ModelVocabulary& vocabulary) {
  const auto& make = maker_of<SequenceToSequenceMaker>(config.family(), "an encoder-decoder");
  return make(config.model.options, vocabulary);
}

}  // namespace tapeformer
