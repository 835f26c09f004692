#include "cli/run_model.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <iostream>

#include "data/text.h"
#include "train/checkpoint.h"
#include "train/model_config.h"
#include "train/progress.h"

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

RunModel load_run_model(const std::filesystem::path& path) {
  const RunReference reference = find_run(path);
  const std::int64_t step = usable_checkpoint(reference);
  RunModel run{.config = resolve(load_config(reference.run.config())),
               .tokenizer = Tokenizer::load(reference.run.tokenizer()),
               .model = nullptr,
               .step = step};
  run.model = std::make_unique<Gpt>(gpt_config(run.config, run.tokenizer->vocab_size()));
  load_weights(reference.run, step, *run.model);
  return run;
}

std::string read_text(const std::filesystem::path& path) { return std::string(MappedText(path).text()); }

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
