#include "train/trained_model.h"

#include <nlohmann/json.hpp>

#include "tokenizer/masked_symbols.h"
#include "train/config/model_config.h"
#include "train/config/run_config.h"
#include "train/run/checkpoint.h"
#include "train/tasks/task_data.h"

namespace tapeformer {
namespace {

constexpr std::string_view kLabellerCommands =
    "for models that are fine-tuned on labels there are predict, and eval with --labels";

// Throws Error for a model that was fine-tuned on labels.
void require_no_labels(const RunFolder& run, const ResolvedConfig& config, std::string_view expected) {
  check(!config.has_task(), run.root.string(), ": the model is fine-tuned to ", config.task.kind, ", expected ",
        expected, "; ", kLabellerCommands);
}

// Throws Error unless the run's model is for one of these tasks, which resuming cannot change. `expected` says what
// they have in common.
void require_task(const ModelSource& source, std::initializer_list<ModelTask> tasks, std::string_view expected) {
  const RunFolder run = find_run(source.path).run;
  const ResolvedConfig config = resolve(load_run_config(run.config()));
  const ModelTask task = config.family().task();
  require_no_labels(run, config, expected);
  check(std::ranges::count(tasks, task) > 0, run.root.string(), ": the model is a ", config.model.type, ", expected ",
        expected, "; ", task_text(task).commands);
}

void require_task(const ModelSource& source, ModelTask expected) {
  require_task(source, {expected}, task_text(expected).model);
}

TrainedModel load_shared(const UsableCheckpoint& found, const LoadOptions& options) {
  TrainedModel trained{.run = found.run,
                       .config = resolve(load_run_config(checkpoint_config(found.run, found.folder))),
                       .checkpoint = found.folder.filename().string(),
                       .checkpoint_text = found.text,
                       .warnings = found.warnings};
  MatmulSetting matmul = options.matmul.value_or(trained.config.train.matmul);
  if (matmul == MatmulSetting::automatic) matmul = fastest_matmul();
  trained.matmul = matmul_precision(matmul);
  if (std::string warning = matmul_warning(trained.matmul); !warning.empty()) trained.warnings.push_back(warning);
  return trained;
}

// While it lives, models are made with the weights that the options ask for.
Bf16Weights weights_of(const LoadOptions& options, const TrainedModel& trained) {
  return Bf16Weights(options.bf16_weights && trained.matmul == kernels::MatmulPrecision::medium);
}

// A model of plain text, which `make` makes.
template <class Model>
TrainedTextModel<Model> load_text_model(const ModelSource& source, const LoadOptions& options,
                                        std::unique_ptr<Model> (*make)(const ResolvedConfig&, const ModelVocabulary&)) {
  return with_checkpoint(source, [&](const UsableCheckpoint& found) -> TrainedTextModel<Model> {
    TrainedModel trained = load_shared(found, options);
    const Bf16Weights weights = weights_of(options, trained);
    auto tokenizer = Tokenizer::load(trained.run.tokenizer());
    auto model = make(trained.config, model_vocabulary(trained.config, *tokenizer));
    load_weights(trained.run, found.folder, *model);
    return {std::move(trained), std::move(tokenizer), std::move(model)};
  });
}

}  // namespace

bool has_task(const ModelSource& source) {
  return resolve(load_run_config(find_run(source.path).run.config())).has_task();
}

ModelTask task_of_run(const ModelSource& source) {
  return resolve(load_run_config(find_run(source.path).run.config())).family().task();
}

TrainedLanguageModel load_language_model(const ModelSource& source, const LoadOptions& options) {
  require_task(source, ModelTask::language_model);
  return load_text_model(source, options, make_language_model);
}

TrainedTextEncoder load_text_encoder(const ModelSource& source, const LoadOptions& options) {
  require_task(source,
               {ModelTask::language_model, ModelTask::bidirectional_language_model, ModelTask::masked_language_model,
                ModelTask::skip_gram_model},
               "a model of plain text");
  return load_text_model(source, options, make_text_encoder);
}

TrainedBidirectionalLanguageModel load_bidirectional_language_model(const ModelSource& source,
                                                                    const LoadOptions& options) {
  require_task(source, ModelTask::bidirectional_language_model);
  return load_text_model(source, options, make_bidirectional_language_model);
}

TrainedMaskedLanguageModel load_masked_language_model(const ModelSource& source, const LoadOptions& options) {
  require_task(source, ModelTask::masked_language_model);
  return load_text_model(source, options, make_masked_language_model);
}

TrainedSkipGramModel load_skip_gram_model(const ModelSource& source, const LoadOptions& options) {
  require_task(source, ModelTask::skip_gram_model);
  return load_text_model(source, options, make_skip_gram_model);
}

TrainedLabeller load_labeller(const ModelSource& source, const LoadOptions& options) {
  const RunFolder run = find_run(source.path).run;
  check(has_task(source), run.root.string(), ": the model is not fine-tuned on labels: expected a run of task.kind");
  return with_checkpoint(source, [&](const UsableCheckpoint& found) -> TrainedLabeller {
    TrainedModel trained = load_shared(found, options);
    auto tokenizer = Tokenizer::load(trained.run.tokenizer());
    std::vector<std::string> labels = read_labels(trained.run.labels());
    auto model = make_labelling_model(trained.config, *tokenizer, std::ssize(labels));
    load_weights(trained.run, found.folder, *model);
    return {std::move(trained), std::move(tokenizer), std::move(labels), std::move(model)};
  });
}

TrainedTranslator load_translator(const ModelSource& source, const LoadOptions& options) {
  require_task(source, ModelTask::sequence_to_sequence);
  return with_checkpoint(source, [&](const UsableCheckpoint& found) -> TrainedTranslator {
    TrainedModel trained = load_shared(found, options);
    const Bf16Weights weights = weights_of(options, trained);
    PairTokenizers both = load_pair_tokenizers(trained.run, trained.config);
    auto model =
        make_sequence_to_sequence(trained.config, model_vocabulary(trained.config, *both.source, *both.target));
    load_weights(trained.run, found.folder, *model);
    return {std::move(trained), std::move(both), std::move(model)};
  });
}

namespace {

// What a row of a model of each kind has around a text, and how it is read.
void set_reader(const LanguageModel& model, TrainedEmbedder& embedder) {
  if (model.document_token() >= 0) embedder.before = {model.document_token()};
  if (!model.can_exceed_context()) embedder.context = model.context();
  embedder.representations = [&model](const Variable& ids) { return model.representations(ids); };
}

void set_reader(const TextEncoder& model, TrainedEmbedder& embedder) {
  if (model.reads_marked_rows()) {
    const MaskedSymbols symbols = masked_symbols(*embedder.tokenizer);
    embedder.before = {symbols.classification}, embedder.after = {symbols.separator};
  }
  embedder.context = model.context();
  embedder.representations = [&model](const Variable& ids) { return model.representations({ids}); };
}

// `after` is set already: the tokenizers know the end of a source.
void set_reader(const SequenceToSequence& model, TrainedEmbedder& embedder) {
  embedder.context = model.context();
  embedder.representations = [&model](const Variable& ids) {
    const Tensor lengths = Tensor::full({ids.size(0)}, DType::i32, static_cast<double>(ids.size(1)));
    return model.source_representations(*ids.tape(), {ids.value(), lengths});
  };
}

}  // namespace

TrainedEmbedder load_embedder(const ModelSource& source, const LoadOptions& options) {
  return with_checkpoint(source, [&](const UsableCheckpoint& found) {
    TrainedEmbedder embedder{load_shared(found, options), {}, {}, {}, {}, {}, {}};
    const Bf16Weights weights = weights_of(options, embedder);
    const ResolvedConfig& config = embedder.config;
    require_no_labels(embedder.run, config, "a model before fine-tuning");
    ModelVocabulary vocabulary;
    if (config.family().reads_pairs()) {
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
