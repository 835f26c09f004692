#include "train/config/model_config.h"

#include "core/error.h"
#include "data/text/text_source.h"
#include "nn/causal_encoder.h"

namespace tapeformer {
namespace {

template <class Model>
std::unique_ptr<Model> make(const ResolvedConfig& config, const ModelVocabulary& vocabulary, ModelTask task) {
  using Maker = std::function<std::unique_ptr<Model>(const KeyValues&, const ModelVocabulary&)>;
  const ModelFamily& family = config.family();
  const Maker* const maker = std::get_if<Maker>(&family.make);
  if (!maker) fail_usage("model.type: expected ", task_text(task).model, ", got ", family.name, ", which is none");
  return (*maker)(config.model.options, vocabulary);
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

const TaskText& task_text(ModelTask task) {
  // In the order of ModelTask.
  static constexpr TaskText kTexts[] = {
      {"a language model", "for language models there are generate, probe, and eval and surprisal with --text"},
      {"an encoder-decoder", "for encoder-decoders there are translate, eval and surprisal with --source and --target"},
      {"a bidirectional language model", "for bidirectional language models there are probe, and eval with --text"},
      {"a masked language model", "for masked language models there are fill, probe, and eval with --text"},
      {"a skip-gram model", "for skip-gram models there are embed, neighbours, probe, and eval with --text"}};
  return kTexts[static_cast<std::size_t>(task)];
}

std::unique_ptr<Module> make_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  const auto make = [&](const auto& maker) -> std::unique_ptr<Module> {
    return maker(config.model.options, vocabulary);
  };
  return std::visit(make, config.family().make);
}

std::unique_ptr<LanguageModel> make_language_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<LanguageModel>(config, vocabulary, ModelTask::language_model);
}

std::unique_ptr<SequenceToSequence> make_sequence_to_sequence(const ResolvedConfig& config,
                                                              const ModelVocabulary& vocabulary) {
  return make<SequenceToSequence>(config, vocabulary, ModelTask::sequence_to_sequence);
}

std::unique_ptr<BidirectionalLanguageModel> make_bidirectional_language_model(const ResolvedConfig& config,
                                                                              const ModelVocabulary& vocabulary) {
  return make<BidirectionalLanguageModel>(config, vocabulary, ModelTask::bidirectional_language_model);
}

std::unique_ptr<MaskedLanguageModel> make_masked_language_model(const ResolvedConfig& config,
                                                                const ModelVocabulary& vocabulary) {
  return make<MaskedLanguageModel>(config, vocabulary, ModelTask::masked_language_model);
}

std::unique_ptr<SkipGramModel> make_skip_gram_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<SkipGramModel>(config, vocabulary, ModelTask::skip_gram_model);
}

std::unique_ptr<TextEncoder> make_text_encoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  switch (config.family().task()) {
    case ModelTask::masked_language_model:
      return make_masked_language_model(config, vocabulary);
    case ModelTask::language_model:
      return std::make_unique<CausalEncoder>(make_language_model(config, vocabulary));
    case ModelTask::skip_gram_model:
      return make_skip_gram_model(config, vocabulary);
    default:
      return make_bidirectional_language_model(config, vocabulary);
  }
}

}  // namespace tapeformer
