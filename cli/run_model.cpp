#include "cli/run_model.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <iostream>

#include "cli/progress_line.h"
#include "train/config/model_config.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

std::int64_t usable_checkpoint(const RunReference& reference) {
  const RunFolder& run = reference.run;
  if (reference.step) {
    const std::filesystem::path folder = run.checkpoint(*reference.step);
    const auto reason = verify_checkpoint(folder);
    check(!reason.has_value(), folder.string(), ": ", reason.value_or(""));
    return *reference.step;
  }
  const NewestCheckpoint newest = newest_valid_checkpoint(run);
  for (const std::string& reason : newest.skipped) spdlog::warn("damaged checkpoint skipped: {}", reason);
  check(newest.step.has_value(), run.root.string(), ": the run has no usable checkpoint");
  if (!newest.skipped.empty()) spdlog::warn("the newest checkpoint that is whole is of step {}", *newest.step);
  return *newest.step;
}

namespace {

struct Weights {
  std::filesystem::path folder;
  std::int64_t step;
};

Weights weights_of(const RunReference& reference) {
  const std::filesystem::path average = reference.run.average();
  const bool has_average = std::filesystem::is_directory(average);
  if (reference.average || (!reference.step && has_average)) {
    const auto reason = verify_checkpoint(average);
    if (!reason) return {average, read_checkpoint_state(average).at("step").get<std::int64_t>()};
    check(!reference.average, average.string(), ": ", *reason);
    spdlog::warn("damaged average skipped: {}: {}", average.string(), *reason);
  }
  const std::int64_t step = usable_checkpoint(reference);
  return {reference.run.checkpoint(step), step};
}

Config config_of(const RunFolder& run, const char* type, const char* advice) {
  const Config config = resolve(load_config(run.config()));
  check(config.model.type == type, run.root.string(), ": the model is a ", config.model.type, ", expected a ", type,
        "; ", advice);
  return config;
}

}  // namespace

RunModel load_run_model(const std::filesystem::path& path) {
  const RunReference reference = find_run(path);
  const Config config = config_of(reference.run, "gpt",
                                  "for encoder-decoders there are translate, eval and surprisal "
                                  "with --source and --target");
  const Weights weights = weights_of(reference);
  RunModel run{config, Tokenizer::load(reference.run.tokenizer()), nullptr, weights.step};
  run.model = std::make_unique<Gpt>(gpt_config(run.config, *run.tokenizer));
  load_weights(reference.run, weights.folder, *run.model);
  return run;
}

RunTranslator load_run_translator(const std::filesystem::path& path) {
  const RunReference reference = find_run(path);
  const Config config = config_of(reference.run, "transformer",
                                  "for language models there are generate, and eval and "
                                  "surprisal with --text");
  const Weights weights = weights_of(reference);
  RunTranslator run{config, load_pair_tokenizers(reference.run, config), nullptr, weights.step};
  const std::int64_t source_vocab = run.tokenizers.source->vocab_size();
  run.model =
      std::make_unique<Transformer>(transformer_config(run.config, source_vocab, run.tokenizers.target->vocab_size()));
  load_weights(reference.run, weights.folder, *run.model);
  return run;
}

std::vector<std::int32_t> prompt_tokens(const RunModel& run, std::string_view prompt) {
  std::vector<std::int32_t> ids = run.tokenizer->encode(prompt);
  const std::int32_t document = run.model->config().document_token;
  if (document >= 0) ids.insert(ids.begin(), document);
  return ids;
}

EncodedText read_tokens(const RunModel& run, const std::string& input) {
  return encode_inputs(std::span(&input, 1), text_options(run.config), *run.tokenizer);
}

ProgressCallback show_progress(std::string what) {
  if (!isatty(STDERR_FILENO)) return {};
  return [what = std::move(what), begin = ProgressLine::steady_seconds()](double share) {
    const double elapsed = ProgressLine::steady_seconds() - begin;
    const std::string left = share > 0 ? format_duration(elapsed * (1 - share) / share) : "?";
    if (share < 1) {
      std::cerr << '\r' << what << ' ' << static_cast<int>(100 * share) << "%  " << left << " left\033[K" << std::flush;
    } else {
      std::cerr << "\r\033[K" << std::flush;
    }
  };
}

}  // namespace tapeformer::cli
