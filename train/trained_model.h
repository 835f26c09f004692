// A trained model, read from a run's folder: the configuration, the tokenizers and the weights.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/labelling_model.h"
#include "nn/models/registry.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/config/matmul_config.h"
#include "train/objectives/translation_data.h"
#include "train/run/checkpoint_store.h"
#include "train/run/disk.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// The fields that every kind of model has.
struct TrainedModel {
  RunFolder run;
  ResolvedConfig config;                                                // that the checkpoint was trained with
  std::int64_t step = 0;                                                // of the checkpoint
  bool averaged = false;                                                // it is the average of those up to that step
  kernels::MatmulPrecision matmul = kernels::MatmulPrecision::highest;  // of the products that it is used with
  std::vector<std::string> warnings;
};

struct LoadOptions {
  std::optional<MatmulSetting> matmul = std::nullopt;  // the precision of products; nothing: the run's own
  // Round the matrices to bf16 once, and hold only that, where the precision rounds them in every product: half of the
  // memory, for generation. Embeddings are then rounded too, so that losses differ a little from training's.
  bool bf16_weights = false;
};

// A model of plain text.
template <class Model>
struct TrainedTextModel : TrainedModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
};
using TrainedLanguageModel = TrainedTextModel<LanguageModel>;
using TrainedTextEncoder = TrainedTextModel<TextEncoder>;
using TrainedBidirectionalLanguageModel = TrainedTextModel<BidirectionalLanguageModel>;
using TrainedMaskedLanguageModel = TrainedTextModel<MaskedLanguageModel>;
using TrainedSkipGramModel = TrainedTextModel<SkipGramModel>;

struct TrainedLabeller : TrainedModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> labels;
  std::unique_ptr<LabellingModel> model;
};

struct TrainedTranslator : TrainedModel {
  PairTokenizers tokenizers;
  std::unique_ptr<SequenceToSequence> model;
};

// A model of any family, as a function from a text to vectors of its tokens. An encoder-decoder's is its encoder.
struct TrainedEmbedder : TrainedModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Module> model;
  std::vector<std::int32_t> before, after;  // the marks around a text in a row: [CLS] and [SEP]
  std::optional<std::int64_t> context;      // the most tokens of a row, marks included; nothing: no limit
  // ids i32 (B, T) → the vectors of each layer (B, T, F), those of the embedding first.
  std::function<std::vector<Variable>(const Variable& ids)> representations;
};

// `path` names one checkpoint in a run's folder, or its average, or the run's folder: then the average is taken where
// the run has ended with one, else the newest checkpoint that verifies (`warnings` names the newer ones that do not).
// The memory taken is that of the model: the file's values go straight into their places. Safe beside a training that
// prunes its checkpoints. Throws Error when there is none, when it does not fit, or when the run has a model of another
// kind.
TrainedLanguageModel load_language_model(const std::filesystem::path& path, const LoadOptions& options = {});
TrainedTextEncoder load_text_encoder(const std::filesystem::path& path, const LoadOptions& options = {});
TrainedBidirectionalLanguageModel load_bidirectional_language_model(const std::filesystem::path& path,
                                                                    const LoadOptions& options = {});
TrainedMaskedLanguageModel load_masked_language_model(const std::filesystem::path& path,
                                                      const LoadOptions& options = {});
TrainedSkipGramModel load_skip_gram_model(const std::filesystem::path& path, const LoadOptions& options = {});
TrainedTranslator load_translator(const std::filesystem::path& path, const LoadOptions& options = {});
TrainedEmbedder load_embedder(const std::filesystem::path& path, const LoadOptions& options = {});
// A run that was fine-tuned on labels; the functions above refuse it.
TrainedLabeller load_labeller(const std::filesystem::path& path, const LoadOptions& options = {});
// Whether a run was fine-tuned on labels. Throws Error when there is no run.
bool has_task(const std::filesystem::path& path);
// What the model of a run, which `path` names in the same way, is for. Throws Error when there is no run.
ModelTask task_of_run(const std::filesystem::path& path);

// A verified checkpoint or average.
struct UsableCheckpoint {
  RunFolder run;
  std::filesystem::path folder;
  std::int64_t step = 0;
  bool averaged = false;
  std::vector<std::string> warnings;
};
// The one that `path` names, as load_language_model() takes it. Throws Error when there is none that verifies, and
// CheckpointGone when a training has removed it meanwhile.
UsableCheckpoint find_checkpoint(const std::filesystem::path& path);

// Returns use(find_checkpoint(path)). A training beside it may remove the checkpoint before it has been read: then
// looks for another one and calls `use` again. Throws what `use` throws otherwise.
template <class Use>
auto with_checkpoint(const std::filesystem::path& path, const Use& use) {
  return retry_while_gone([&] {
    const UsableCheckpoint found = find_checkpoint(path);
    const HeldFolder held(found.folder);
    try {
      return use(found);
    } catch (const Error& error) {
      if (!held.in_place()) throw CheckpointGone(error.what());
      throw;
    }
  });
}

// The step of the checkpoint that is named or, where none is named, of the newest one that verifies; adds a warning for
// each newer one that does not. Throws Error when the named one does not verify, or there is none.
std::int64_t usable_checkpoint(const RunReference& reference, std::vector<std::string>& warnings);

}  // namespace tapeformer
