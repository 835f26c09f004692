#include "cli/options/run_model.h"

#include <spdlog/spdlog.h>

#include "cli/options/usage.h"
#include "generate/generator.h"
#include "tasks/common/models.h"

namespace tapeformer::cli {

void tell(const TrainedModel& trained) {
  for (const std::string& warning : trained.warnings) spdlog::warn("{}", warning);
  spdlog::info("weights: {}", trained.checkpoint_text);
}

void add_run_argument(CLI::App& command, ModelSource& run) {
  command.add_option("run", run.path, "A run's folder, or one checkpoint folder in it")->required();
  command.add_option("--checkpoint", run.checkpoint,
                     "The weights that are read: latest, best, average, or those of a step [best, or the average where "
                     "its validation was better; latest where nothing was evaluated]");
}

void add_matmul_option(CLI::App& command, std::optional<MatmulSetting>& matmul) {
  command
      .add_option_function<std::string>(
          "--matmul", [&](const std::string& word) { matmul = value_of<MatmulSetting>(word); },
          "Precision of matrix products, as train.matmul has it [the run's]")
      ->check(CLI::IsMember(words_of<MatmulSetting>()));
}

std::vector<CLI::Option*> add_sampling_options(CLI::App& command, SamplingOptions& sampling, std::uint64_t& seed) {
  return {command.add_option("--temperature", sampling.temperature, "0: always the likeliest token [1]"),
          command.add_option("--top-k", sampling.top_k, "Only the k likeliest tokens; 0: all [0]"),
          command.add_option("--top-p", sampling.top_p, "Only the likeliest tokens of this total probability [1]"),
          command.add_option("--seed", seed, "The same seed gives the same text [1]")->check(at_least(0))};
}

std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt) {
  return prompt_tokens(*run.tokenizer, *run.model, prompt);
}

EncodedText read_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::string& input) {
  EncodedText text = encode_inputs(std::span(&input, 1), text_options(config), tokenizer);
  for (const std::string& note : text.notes.lines()) spdlog::warn("{}", note);
  return text;
}

}  // namespace tapeformer::cli
