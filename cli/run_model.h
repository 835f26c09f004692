// A trained model, read from a run's folder.
#pragma once

#include <memory>

#include "nn/models/gpt.h"
#include "tokenizer/tokenizer.h"
#include "train/config.h"
#include "train/evaluation.h"
#include "train/run_folder.h"

namespace tapeformer::cli {

struct RunModel {
  Config config;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Gpt> model;
  std::int64_t step;  // of the checkpoint
};

// `run` as on the command line: a run's folder (its newest valid checkpoint is taken) or one checkpoint in it. Throws
// Error when there is none, or it does not fit.
RunModel load_run_model(const std::filesystem::path& run);

// The step of the checkpoint that is named or, where none is, of the newest that verifies, with a warning of newer ones
// that do not. Throws Error when the named one does not verify, or there is none.
std::int64_t usable_checkpoint(const RunReference& reference);

// The whole file. Throws Error when it cannot be read, or is empty.
std::string read_text(const std::filesystem::path& path);

// A line "what 45%  12s left" on standard error, if that is a terminal; cleared at the end.
ProgressCallback show_progress(std::string what);

}  // namespace tapeformer::cli
