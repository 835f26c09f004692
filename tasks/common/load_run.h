// Loads a trained model from a run's folder: the configuration, the tokenizers and the weights.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/models/registry.h"
#include "tasks/common/models.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/config/matmul_config.h"
#include "train/loop/objective.h"
#include "train/run/checkpoint.h"
#include "train/run/chosen_checkpoint.h"

namespace tapeformer {

// The fields that a loaded model of any task has.
struct TrainedModel {
  RunFolder run;
  ResolvedConfig config;                                                // with which the checkpoint was trained
  std::string checkpoint;                                               // its folder's name: "step-000500", "average"
  std::string checkpoint_text;                                          // the checkpoint in words: "step 500 (best)"
  std::int64_t step = 0;                                                // the last one before the checkpoint was saved
  kernels::MatmulPrecision matmul = kernels::MatmulPrecision::highest;  // of the model's matrix products
  WeightFormat weights = WeightFormat::f32;                             // the format of the model's matrices in memory
  std::vector<std::string> without_heads = {};                          // the names of its heads that are removed
  std::vector<std::string> warnings;

  // Whether the weights are those of a published model, which no training here has changed.
  bool is_imported() const { return checkpoint == checkpoint_name(0) && tapeformer::is_imported(run); }
};

// The format of a model's matrices in memory if LoadOptions::weights gives none. `as_stored` and `bf16` mean f32 unless
// the precision is medium, whose products round matrices to bf16 anyway. Then `as_stored` means bf16 if the checkpoint
// stores matrices in bf16, as that of an imported model in bf16 does; this changes no result.
enum class DefaultWeights { f32, as_stored, bf16 };

struct LoadOptions {
  std::optional<MatmulSetting> matmul = std::nullopt;  // the precision of matrix products; nullopt: the run's own
  // The format in which matrices and embeddings are held, to which they are rounded once when they are loaded; losses
  // then differ a little from those of training. bf16 needs the precision medium, which rounds matrices to bf16 in
  // every product anyway. Without `matmul` the precision is medium for bf16, and for q8_0 the fastest one.
  std::optional<WeightFormat> weights = std::nullopt;
  DefaultWeights default_weights = DefaultWeights::f32;  // if `weights` is not given
  std::vector<std::string> without_heads = {};           // the names of heads that are removed (remove_heads())
  // Whether the model reads conversations: each is one text, so the model has no document token, which a chat template
  // may write within one.
  bool conversations = false;
};

// A model of plain text of the type M.
template <class M>
struct TrainedOnText : TrainedModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<M> model;
};
using TrainedLanguageModel = TrainedOnText<CausalModel>;
using TrainedTextModel = TrainedOnText<Model>;  // of any task that reads plain text

// Returns text_prefix() (tasks/common/text_start.h) of the run.
std::vector<std::int32_t> text_prefix(const TrainedModel& run, const Tokenizer& tokenizer);

// Loads the model of the checkpoint that find_checkpoint() chooses; `warnings` names the damaged ones that it skips.
// Only the memory of the model itself is needed: the file's values are read straight into it. Safe beside a training
// that prunes its checkpoints. Throws Error when there is no checkpoint, when it does not fit, or when the run has a
// model of another kind: a run that was fine-tuned on labels can only be loaded as TrainedClassifier. Trained: one of
// the types above, or one of those that tasks add (TrainedTranslator, TrainedClassifier, TrainedEmbedder).
template <class Trained>
Trained load_run(const RunSelection& source, const LoadOptions& options = {});
template <>
TrainedLanguageModel load_run(const RunSelection& source, const LoadOptions& options);
template <>
TrainedTextModel load_run(const RunSelection& source, const LoadOptions& options);

// The task that a run trains, and the family of its model. Both throw Error when there is no run.
const TaskRow& task_of_run(const RunSelection& source);
const ModelFamily& family_of_run(const RunSelection& source);

// Returns a sentence for each of the training and validation data of a run that is another now than when the checkpoint
// was saved. A hash of 0 is not compared, and nothing is if the run has lost the state of the checkpoint's step.
std::vector<std::string> changed_data(const TrainedModel& run, std::uint64_t data_hash, std::uint64_t valid_hash);

// A run of any task with its training data: its objective, whose model has the weights of the checkpoint. `warnings`
// has changed_data() too.
struct TrainedObjective : TrainedModel {
  std::unique_ptr<Objective> objective;
};
TrainedObjective load_trained_objective(const RunSelection& source, const LoadOptions& options = {});

// The functions below help to implement load_run() for other types.

// Fills the fields of TrainedModel, before its model is loaded. Throws UsageError for a format of weights that needs
// another precision of products than the options ask for.
TrainedModel load_shared(const UsableCheckpoint& found, const LoadOptions& options);
// Returns use(trained), which makes the model and loads it, for the fields of the checkpoint that the source names; the
// matrices of models that it makes have their format (TrainedModel::weights).
template <class Use>
auto with_trained(const RunSelection& source, const LoadOptions& options, const Use& use) {
  return with_checkpoint(source, [&](const UsableCheckpoint& found) {
    TrainedModel trained = load_shared(found, options);
    const WeightFormatScope weights(trained.weights);
    return use(std::move(trained));
  });
}
// Reads the checkpoint's weights into the model, and removes its heads without_heads. Throws UsageError for a head that
// the model does not have.
void load_model(const TrainedModel& trained, const Module& model);
// Throws Error, which begins with `origin`, if the machine's memory is too small for the weights of a model whose
// matrices are held in this format. The model may be made under ShapesOnly.
void require_memory(const Module& model, WeightFormat weights, const std::string& origin);
// Throws Error for a model that was fine-tuned on labels. `expected` says in words which models are allowed.
void require_no_labels(const RunSelection& source, const ResolvedConfig& config, std::string_view expected);
// Throws Error unless the run's model is for one of the tasks; the message names the models of all of them.
void require_task(const RunSelection& source, std::initializer_list<std::string_view> tasks);

// Loads a model of plain text, which `make` makes.
template <class M>
TrainedOnText<M> load_text_model(const RunSelection& source, const LoadOptions& options,
                                 std::unique_ptr<M> (*make)(const ResolvedConfig&, const ModelVocabulary&)) {
  return with_trained(source, options, [&](TrainedModel trained) -> TrainedOnText<M> {
    auto tokenizer = Tokenizer::load(trained.run.tokenizer());
    ModelVocabulary vocabulary = model_vocabulary(trained.config, *tokenizer);
    if (options.conversations) vocabulary.document_token = ModelVocabulary().document_token;
    {
      const ShapesOnly no_memory;
      require_memory(*make(trained.config, vocabulary), trained.weights, trained.run.root.string());
    }
    auto model = make(trained.config, vocabulary);
    load_model(trained, *model);
    return {std::move(trained), std::move(tokenizer), std::move(model)};
  });
}

}  // namespace tapeformer
