// What the commands do with a trained model: load it with its warnings shown, and read texts as it reads them.
#pragma once

#include <CLI/CLI.hpp>

#include "data/text/encode_text.h"
#include "tasks/common/load_run.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer::cli {

// Prints a run's warnings and the checkpoint that is read, on standard error.
void tell(const TrainedModel& trained);

// load_run(), with what tell() prints.
template <class Trained>
Trained open_run(const ModelSource& run, const LoadOptions& options) {
  Trained trained = load_run<Trained>(run, options);
  tell(trained);
  return trained;
}

// The argument RUN of a command, with the option --checkpoint.
void add_run_argument(CLI::App& command, ModelSource& run);
// The option --matmul of a command.
void add_matmul_option(CLI::App& command, std::optional<MatmulSetting>& matmul);

// The ids of a prompt; after <|endoftext|>, which begins every document, for a model that keeps to documents.
std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt);

// The text of a file, folder or glob as the run's training reads it (encode_inputs()).
EncodedText read_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::string& input);

}  // namespace tapeformer::cli
