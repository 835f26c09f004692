// A trained model, read from a run's folder.
#pragma once

#include <memory>

#include "data/text/encode_text.h"
#include "nn/models/gpt.h"
#include "nn/models/transformer.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/evaluation.h"
#include "train/objectives/translation_data.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {

// A language model.
struct RunModel {
  Config config;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Gpt> model;
  std::int64_t step;  // of the checkpoint
};

// An encoder-decoder.
struct RunTranslator {
  Config config;
  PairTokenizers tokenizers;
  std::unique_ptr<Transformer> model;
  std::int64_t step;
};

// `run` as on the command line: one checkpoint in a run's folder, or its average; or the folder, of which the average
// is taken where the run has ended with one, else the newest valid checkpoint. Throws Error when there is none, it does
// not fit, or the run is of the other kind of model.
RunModel load_run_model(const std::filesystem::path& run);
RunTranslator load_run_translator(const std::filesystem::path& run);

// The step of the checkpoint that is named or, where none is, of the newest that verifies, with a warning of newer ones
// that do not. Throws Error when the named one does not verify, or there is none.
std::int64_t usable_checkpoint(const RunReference& reference);

// The ids of a prompt; behind <|endoftext|>, which begins every document, for a model that keeps to documents.
std::vector<std::int32_t> prompt_tokens(const RunModel& run, std::string_view prompt);

// The text of a file, folder or glob as the run's training reads it (encode_inputs()).
EncodedText read_tokens(const RunModel& run, const std::string& input);

// A line "what 45%  12s left" on standard error, if that is a terminal; cleared at the end.
ProgressCallback show_progress(std::string what);

}  // namespace tapeformer::cli
