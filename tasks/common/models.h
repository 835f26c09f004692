// Makes models from configurations.
#pragma once

#include <filesystem>
#include <memory>

#include "nn/layers/lora.h"
#include "nn/models/registry.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/loop/objective_data.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// The first token of every document for a model that attends only within documents (data.within_document):
// <|endoftext|>, the end of the document before. -1 for other models. Throws UsageError when the tokenizer has no such
// token.
std::int32_t document_token(const ResolvedConfig& config, const Tokenizer& tokenizer);

// Returns the file of the run's tokenizer, if there is a run, else tokenizer.file; "" if a tokenizer is to be learned.
std::filesystem::path tokenizer_file(const ResolvedConfig& config, const RunFolder* run);
// Loads that tokenizer; null if there is no such file.
std::unique_ptr<Tokenizer> known_tokenizer(const ResolvedConfig& config, const RunFolder* run);

// The vocabulary sizes of a model of plain text, and of a model of parallel text.
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& tokenizer);
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const Tokenizer& source, const Tokenizer& target);

// The data of a task whose models read it by one tokenizer, Data::tokenizer.
template <class Data>
struct DataOfOneTokenizer : ObjectiveDataOf<Data> {
  using ObjectiveDataOf<Data>::ObjectiveDataOf;
  ModelVocabulary vocabulary(const ResolvedConfig& config) const override {
    return model_vocabulary(config, *this->data.tokenizer);
  }
};

// Adds the adapters that the configuration asks for.
template <class M>
std::unique_ptr<M> with_adapters(const ResolvedConfig& config, std::unique_ptr<M> model) {
  add_adapters(*model, config.lora());
  return model;
}

// These functions make the model that the configuration describes, its parameters not initialized yet. All but
// make_model_for() add its adapters (train.lora.*). They throw UsageError when its family makes no model of this kind.
std::unique_ptr<CausalModel> make_causal_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary);
std::unique_ptr<EncoderDecoder> make_encoder_decoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary);
std::unique_ptr<EncoderDecoder> make_image_decoder(const ResolvedConfig& config, const ModelVocabulary& vocabulary);
// Makes a model whose family is trained for `task`, without heads. A caller that adds heads must add the adapters
// afterwards (with_adapters()).
std::unique_ptr<Model> make_model_for(std::string_view task, const ResolvedConfig& config,
                                      const ModelVocabulary& vocabulary);
// Makes a model with the heads of the task that its family is trained for (TaskHeads), if that task has heads.
std::unique_ptr<Model> make_model_with_heads(const ResolvedConfig& config, const ModelVocabulary& vocabulary);

}  // namespace tapeformer
