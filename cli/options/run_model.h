// Functions and options for commands that read a trained model.
#pragma once

#include "cli/options/command.h"
#include "tasks/common/load_run.h"

namespace tapeformer::cli {

// Prints a warning on standard error.
void warn(const std::string& line);

// Prints a run's warnings and the checkpoint that is read, on standard error.
void log_loaded(const TrainedModel& trained);

// Calls load_run(), and prints what log_loaded() prints.
template <class Trained>
Trained open_run(const RunSelection& run, const LoadOptions& options) {
  Trained trained = load_run<Trained>(run, options);
  log_loaded(trained);
  return trained;
}

// The argument RUN of a command, and the options --checkpoint, --task, --matmul and --weights.
Option run_argument(RunSelection& run);
Option checkpoint_option(RunSelection& run);
Option task_option(RunSelection& run, OptionRules rules = {});
Option matmul_option(std::optional<MatmulSetting>& matmul);
// `default_format` tells the user, in the help, which format is used if the option is not given: kAsStored for
// DefaultWeights::as_stored.
inline constexpr const char* kAsStored = "f32; bf16 where the run has them so and products are in bf16";
Option weights_option(std::optional<WeightFormat>& weights, const std::string& default_format);

// The options --source and --target of a command that scores given translations. The source excludes the options that
// give other inputs.
Option source_option(std::string& source, std::vector<std::string> excludes);
Option target_option(std::string& target);

// Returns the ids of a prompt, preceded by what precedes every text: text_prefix(), or <|endoftext|> for a model that
// attends only within documents.
std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt);

// Return what the functions of tasks/common/text_start.h do for the run.
std::int32_t text_start(const TrainedLanguageModel& run);
std::vector<std::int32_t> beginning_tokens(const TrainedLanguageModel& run, std::string_view prompt);

// Warns if a text has words or characters that the vocabulary does not have, which the model reads as the unknown
// token: `unknown` of its tokens. `what` names the text.
void warn_of_unknown(std::int64_t unknown, std::int64_t tokens, const Tokenizer& tokenizer, std::string_view what);
void warn_of_unknown(std::span<const std::int32_t> ids, const Tokenizer& tokenizer, std::string_view what);

}  // namespace tapeformer::cli
