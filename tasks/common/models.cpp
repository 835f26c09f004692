#include "tasks/common/models.h"

#include "core/error.h"
#include "data/text/text_source.h"

namespace tapeformer {
namespace {

[[noreturn]] void fail_family(const ModelFamily& family, std::string_view task) {
  fail_usage("model.type: expected ", find_task_row(task).model, ", got ", family.name, ", which is none");
}

template <class Maker>
auto make(const ResolvedConfig& config, const ModelVocabulary& vocabulary, std::string_view task) {
  const ModelFamily& family = config.family();
  const Maker* const maker = std::get_if<Maker>(&family.make);
  if (!maker) fail_family(family, task);
  return with_adapters(config, (*maker)(config.model.options, vocabulary));
}

}  // namespace

std::int32_t document_token(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  if (!config.data.within_document) return -1;
  const std::optional<std::int32_t> token = tokenizer.special(kEndOfText);
  if (!token) fail_usage("data.within_document: expected a tokenizer with the token ", kEndOfText, ", got one without");
  return *token;
}

std::filesystem::path tokenizer_file(const ResolvedConfig& config, const RunFolder* run) {
  return run ? run->tokenizer() : std::filesystem::path(config.tokenizer.file);
}

std::unique_ptr<Tokenizer> known_tokenizer(const ResolvedConfig& config, const RunFolder* run) {
  const std::filesystem::path file = tokenizer_file(config, run);
  return file.empty() ? nullptr : Tokenizer::load(file);
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  const std::int64_t size = tokenizer.vocab_size();
  return {.source = size, .target = size, .document_token = document_token(config, tokenizer)};
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& source, const Tokenizer& target) {
  return {.source = source.vocab_size(), .target = target.vocab_size(), .joint = config.tokenizer.joint};
}

std::unique_ptr<CausalModel> make_causal_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<CausalModelMaker>(config, vocabulary, "language_model");
}

std::unique_ptr<EncoderDecoder> make_encoder_decoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<EncoderDecoderMaker>(config, vocabulary, "translation");
}

std::unique_ptr<EncoderDecoder> make_image_decoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return make<ImageDecoderMaker>(config, vocabulary, "captioning");
}

std::unique_ptr<Model> make_model_for(std::string_view task, const ResolvedConfig& config,
                                      const ModelVocabulary& vocabulary) {
  if (config.family().task != task) fail_family(config.family(), task);
  return config.family().make_model(config.model.options, vocabulary);
}

std::unique_ptr<Model> make_model_with_heads(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  const TaskHeads& heads = find_task_row(config.family().task).heads;
  if (heads.make) return heads.make(config, vocabulary);
  return with_adapters(config, config.family().make_model(config.model.options, vocabulary));
}

}  // namespace tapeformer
