#include "tasks/analysis/trained_embedder.h"

#include "core/error.h"
#include "nn/models/registry.h"
#include "tasks/common/models.h"
#include "tasks/translation/translation_data.h"
#include "tokenizer/masked_symbols.h"
#include "train/run/checkpoint.h"

namespace tapeformer {
namespace {

// Sets how a model of each kind reads a text: the special tokens around it, the context, and its forward pass.
void set_reader(const CausalModel& model, TrainedEmbedder& embedder) {
  if (model.document_token() >= 0) embedder.before = {model.document_token()};
  if (!model.can_exceed_context()) embedder.context = model.context();
  embedder.hidden_states = [&model](const Variable& ids) { return model.hidden_states(ids); };
}

void set_reader(const Model& model, TrainedEmbedder& embedder) {
  if (model.has_special_tokens()) {
    const MaskedSymbols symbols = masked_symbols(*embedder.tokenizer);
    embedder.before = {symbols.classification}, embedder.after = {symbols.separator};
  }
  embedder.context = model.context();
  embedder.hidden_states = [&model](const Variable& ids) { return model.hidden_states({ids}); };
}

void set_reader(const Module&, TrainedEmbedder& embedder) {
  fail(embedder.run.root.string(), ": the model is a ", embedder.config.model.type,
       ", expected one that gives the tokens of a text vectors; ", embedder.config.task_row().commands);
}

// `after` is set already: the tokenizers know the end of a source.
void set_reader(const EncoderDecoder& model, TrainedEmbedder& embedder) {
  embedder.context = model.context();
  embedder.hidden_states = [&model](const Variable& ids) {
    const Tensor lengths = Tensor::full({ids.size(0)}, DType::i32, static_cast<double>(ids.size(1)));
    return model.source_hidden_states(*ids.tape(), {ids.value(), lengths});
  };
}

}  // namespace

template <>
TrainedEmbedder load_run(const ModelSource& source, const LoadOptions& options) {
  return with_checkpoint(source, [&](const UsableCheckpoint& found) {
    TrainedEmbedder embedder{load_shared(found, options), {}, {}, {}, {}, {}, {}};
    const Bf16Weights weights = weights_of(options, embedder);
    const ResolvedConfig& config = embedder.config;
    require_no_labels(source, config, "a model before fine-tuning");
    ModelVocabulary vocabulary;
    if (config.family().is_encoder_decoder()) {
      const PairTokenizers both = load_pair_tokenizers(embedder.run, config);
      embedder.tokenizer = both.source;
      embedder.after = {both.symbols.source.end};
      vocabulary = model_vocabulary(config, *both.source, *both.target);
    } else {
      embedder.tokenizer = Tokenizer::load(embedder.run.tokenizer());
      vocabulary = model_vocabulary(config, *embedder.tokenizer);
    }
    const auto make = [&](const auto& maker) {
      auto model = maker(config.model.options, vocabulary);
      load_weights(embedder.run, found.folder, *model);
      set_reader(*model, embedder);
      embedder.model = std::move(model);
    };
    std::visit(make, config.family().make);
    return embedder;
  });
}

}  // namespace tapeformer
