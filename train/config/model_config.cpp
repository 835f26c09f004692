#include "train/config/model_config.h"

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

const ModelFamily& model_family(const Config& config) { return find_model_family(config.model.type); }

KeyValues model_options(const Config& config) {
  const Config::Model& m = config.model;
  const ModelFamily& family = model_family(config);
  KeyValues options(family.keys);
  const auto set = [&](const char* name, const KeyValue& value) {
    if (options.has(name) && value != KeyValue(std::string("auto"))) options.set(name, value);
  };
  set("layers", m.layers), set("heads", m.heads), set("dim", m.dim), set("ff_dim", m.ff_dim);
  set("context", m.context), set("dropout", m.dropout), set("attention_dropout", m.attention_dropout);
  set("norm", m.norm), set("activation", m.activation), set("position", m.position);
  set("tie_embeddings", m.tie_embeddings), set("position_base", m.position_base), set("norm_eps", m.norm_eps);
  set("init_std", m.init_std), set("bias", m.bias);
  family.resolve(options, config.tokenizer.joint);
  return options;
}

std::int64_t row_tokens(const Config& config) { return config.model.context; }

std::int32_t document_token(const Config& config, const Tokenizer& tokenizer) {
  if (!config.data.within_document) return -1;
  const std::optional<std::int32_t> token = tokenizer.special(kEndOfText);
  if (!token) fail_usage("data.within_document: expected a tokenizer with the token ", kEndOfText, ", got one without");
  return *token;
}

ModelVocabulary model_vocabulary(const Config& config, const Tokenizer& tokenizer) {
  const std::int64_t size = tokenizer.vocab_size();
  return {.source = size, .target = size, .document_token = document_token(config, tokenizer)};
}

ModelVocabulary model_vocabulary(const Config& config, const Tokenizer& source, const Tokenizer& target) {
  return {.source = source.vocab_size(), .target = target.vocab_size(), .joint = config.tokenizer.joint};
}

std::unique_ptr<LanguageModel> make_language_model(const Config& config, const ModelVocabulary& vocabulary) {
  const auto& make = maker_of<LanguageModelMaker>(model_family(config), "a language model");
  return make(model_options(config), vocabulary);
}

std::unique_ptr<SequenceToSequence> make_sequence_to_sequence(const Config& config, const ModelVocabulary& vocabulary) {
  const auto& make = maker_of<SequenceToSequenceMaker>(model_family(config), "an encoder-decoder");
  return make(model_options(config), vocabulary);
}

}  // namespace tapeformer
