#include "tasks/common/models.h"

#include "core/error.h"
#include "data/text/text_source.h"
#include "nn/interfaces/causal_encoder.h"

namespace tapeformer {
namespace {

template <class Model>
std::unique_ptr<Model> make(const ResolvedConfig& config, const ModelVocabulary& vocabulary, std::string_view task) {
  using Maker = std::function<std::unique_ptr<Model>(const KeyValues&, const ModelVocabulary&)>;
  const ModelFamily& family = config.family();
  const Maker* const maker = std::get_if<Maker>(&family.make);
  if (!maker) fail_usage("model.type: expected ", find_task_row(task).model, ", got ", family.name, ", which is none");
  return (*maker)(config.model.options, vocabulary);
}

}  // namespace

std::int32_t document_token(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  if (!config.data.within_document) return -1;
  const std::optional<std::int32_t> token = tokenizer.special(kEndOfText);
  if (!token) fail_usage("data.within_document: expected a tokenizer with the token ", kEndOfText, ", got one without");
  return *token;
}

TextOptions text_options(const ResolvedConfig& config) {
  return {.document = config.data.document, .field = config.data.text_field};
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  const std::int64_t size = tokenizer.vocab_size();
  return {.source = size, .target = size, .document_token = document_token(config, tokenizer)};
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& source, const Tokenizer& target) {
  return {.source = source.vocab_size(), .target = target.vocab_size(), .joint = config.tokenizer.joint};
}

std::unique_ptr<CausalModel> make_causal_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<CausalModel>(config, vocabulary, "language_model");
}

std::unique_ptr<EncoderDecoder> make_encoder_decoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<EncoderDecoder>(config, vocabulary, "translation");
}

std::unique_ptr<BidirectionalLanguageModel> make_bidirectional_language_model(const ResolvedConfig& config,
                                                                              const ModelVocabulary& vocabulary) {
  return make<BidirectionalLanguageModel>(config, vocabulary, "bidirectional_language_model");
}

std::unique_ptr<MaskedLanguageModel> make_masked_language_model(const ResolvedConfig& config,
                                                                const ModelVocabulary& vocabulary) {
  return make<MaskedLanguageModel>(config, vocabulary, "masked_language_model");
}

std::unique_ptr<SkipGramModel> make_skip_gram_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<SkipGramModel>(config, vocabulary, "skip_gram");
}

std::unique_ptr<Model> make_text_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  const ModelFamily& family = config.family();
  if (family.is_causal()) return std::make_unique<CausalEncoder>(make_causal_model(config, vocabulary));
  const auto make = [&](const auto& maker) -> std::unique_ptr<Model> {
    using Made = decltype(maker(config.model.options, vocabulary));
    if constexpr (std::is_convertible_v<Made, std::unique_ptr<Model>>) {
      return maker(config.model.options, vocabulary);
    } else {
      fail_usage("model.type: expected a model of plain text, got ", family.name, ", which is none");
    }
  };
  return std::visit(make, family.make);
}

}  // namespace tapeformer
