#include "cli/options/run_model.h"

#include "cli/terminal/messages.h"
#include "data/text/encode_text.h"
#include "generate/generator.h"
#include "tasks/common/text_start.h"

namespace tapeformer::cli {

void warn(const std::string& line) { log_warning("{}", line); }

void log_loaded(const TrainedModel& trained) {
  for (const std::string& warning : trained.warnings) warn(warning);
  log_info("weights: {}", trained.checkpoint_text);
}

Option run_argument(RunSelection& run) {
  return {"run",
          [&run](const std::string& path) { run.path = path; },
          "A run's folder, or one checkpoint folder in it",
          {.required = true}};
}

Option checkpoint_option(RunSelection& run) {
  return {"--checkpoint", &run.checkpoint,
          "The weights that are read: latest, best, average, or those of a step [best, or the average where its "
          "validation was better; latest where nothing was evaluated]"};
}

Option task_option(RunSelection& run, OptionRules rules) {
  return {"--task", &run.task, "Which of several tasks with labels, by its name in [tasks.NAME] [the only one]",
          std::move(rules)};
}

Option matmul_option(std::optional<MatmulSetting>& matmul) {
  return word_option("--matmul", matmul, "Precision of matrix products, as train.matmul has it [the run's]");
}

Option weights_option(std::optional<WeightFormat>& weights, const std::string& default_format) {
  return word_option("--weights", weights,
                     "Format in which matrices are held: 32, 16 or 8.5 bits a number [" + default_format + "]");
}

Option source_option(std::string& source, std::vector<std::string> excludes) {
  return {"--source",
          &source,
          "File to translate, for an encoder-decoder",
          {.excludes = std::move(excludes), .needs = {"--target"}}};
}

Option target_option(std::string& target) {
  return {"--target", &target, "Its translation, line by line", {.needs = {"--source"}}};
}

std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt) {
  return prompt_tokens(*run.tokenizer, *run.model, prompt, text_prefix(run, *run.tokenizer));
}

std::int32_t text_start(const TrainedLanguageModel& run) {
  return text_start(run.config, *run.tokenizer, run.is_imported());
}

std::vector<std::int32_t> beginning_tokens(const TrainedLanguageModel& run, std::string_view prompt) {
  return beginning_tokens(run.config, *run.tokenizer, *run.model, prompt, run.is_imported());
}

void warn_of_unknown(std::int64_t unknown, std::int64_t tokens, const Tokenizer& tokenizer, std::string_view what) {
  if (const auto note = unknown_note(unknown, tokens, tokenizer, what)) log_warning("{}", *note);
}

void warn_of_unknown(std::span<const std::int32_t> ids, const Tokenizer& tokenizer, std::string_view what) {
  warn_of_unknown(count_unknown(ids, tokenizer), std::ssize(ids), tokenizer, what);
}

}  // namespace tapeformer::cli
