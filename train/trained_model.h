// A trained model, read from a run's folder: the configuration, the tokenizers and the weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/language_model.h"
#include "nn/sequence_to_sequence.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/objectives/translation_data.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// What is the same for every kind of model.
struct TrainedModel {
  RunFolder run;
  ResolvedConfig config;
  std::int64_t step = 0;  // of the checkpoint
  std::vector<std::string> warnings;
};

struct TrainedLanguageModel : TrainedModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;
};

struct TrainedTranslator : TrainedModel {
  PairTokenizers tokenizers;
  std::unique_ptr<SequenceToSequence> model;
};

// `path` names one checkpoint in a run's folder, or its average; or the run's folder, of which the average is taken
// where the run has ended with one, else the newest checkpoint that verifies (newer ones that do not are named in
// `warnings`). Throws Error when there is none, when it does not fit, or when the run has a model of another kind.
TrainedLanguageModel load_language_model(const std::filesystem::path& path);
TrainedTranslator load_translator(const std::filesystem::path& path);

// The step of the checkpoint that is named or, where none is, of the newest one that verifies; adds a warning for each
// newer one that does not. Throws Error when the named one does not verify, or there is none.
std::int64_t usable_checkpoint(const RunReference& reference, std::vector<std::string>& warnings);

}  // namespace tapeformer
