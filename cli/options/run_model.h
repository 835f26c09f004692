// What commands do with a trained model: they load it, show its warnings, and read texts as its training does.
#pragma once

#include <CLI/CLI.hpp>

#include "data/text/encode_text.h"
#include "generate/sampler.h"
#include "tasks/common/load_run.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer::cli {

// Prints a run's warnings and the checkpoint that is read, on standard error.
void tell(const TrainedModel& trained);

// Calls load_run(), and prints what tell() prints.
template <class Trained>
Trained open_run(const ModelSource& run, const LoadOptions& options) {
  Trained trained = load_run<Trained>(run, options);
  tell(trained);
  return trained;
}

// Adds the argument RUN to a command, with the option --checkpoint.
void add_run_argument(CLI::App& command, ModelSource& run);
// Adds the option --matmul to a command.
void add_matmul_option(CLI::App& command, std::optional<MatmulSetting>& matmul);

// The widest beam of a search: a wider one takes gigabytes and does not help.
inline constexpr std::int64_t kMostHypotheses = 1000;
// Adds --temperature, --top-k, --top-p and --seed to a command, and returns them.
std::vector<CLI::Option*> add_sampling_options(CLI::App& command, SamplingOptions& sampling, std::uint64_t& seed);

// The ids of a prompt; for a model that attends only within documents, they follow <|endoftext|>, which begins every
// document.
std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt);

// Reads the text of a file, folder or glob as the run's training reads it (encode_inputs()).
EncodedText read_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::string& input);

}  // namespace tapeformer::cli
