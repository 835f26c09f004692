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
#include "train/run/chosen_checkpoint.h"

namespace tapeformer {

// The fields that every kind of model has.
struct TrainedModel {
  RunFolder run;
  ResolvedConfig config;                                                // that the checkpoint was trained with
  std::string checkpoint;                                               // its folder's name: "step-000500", "average"
  std::string checkpoint_text;                                          // the same for people: "step 500 (best)"
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

// Of the checkpoint that find_checkpoint() chooses; `warnings` names the damaged ones that it skips.
// The memory taken is that of the model: the file's values go straight into their places. Safe beside a training that
// prunes its checkpoints. Throws Error when there is none, when it does not fit, or when the run has a model of another
// kind.
TrainedLanguageModel load_language_model(const ModelSource& source, const LoadOptions& options = {});
TrainedTextEncoder load_text_encoder(const ModelSource& source, const LoadOptions& options = {});
TrainedBidirectionalLanguageModel load_bidirectional_language_model(const ModelSource& source,
                                                                    const LoadOptions& options = {});
TrainedMaskedLanguageModel load_masked_language_model(const ModelSource& source, const LoadOptions& options = {});
TrainedSkipGramModel load_skip_gram_model(const ModelSource& source, const LoadOptions& options = {});
TrainedTranslator load_translator(const ModelSource& source, const LoadOptions& options = {});
TrainedEmbedder load_embedder(const ModelSource& source, const LoadOptions& options = {});
// A run that was fine-tuned on labels; the functions above refuse it.
TrainedLabeller load_labeller(const ModelSource& source, const LoadOptions& options = {});
// Whether a run was fine-tuned on labels. Throws Error when there is no run.
bool has_task(const ModelSource& source);
// What the model of a run is for. Throws Error when there is no run.
ModelTask task_of_run(const ModelSource& source);

}  // namespace tapeformer
