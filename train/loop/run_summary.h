// What a table of runs says of each: read from its folder, without its model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/run/run_folder.h"

namespace tapeformer {

struct RunSummary {
  RunFolder run;
  std::string type;                        // the model's family
  std::optional<std::int64_t> parameters;  // of the newest checkpoint; nothing while there is none
  std::string data;                        // what it learns from: a file, a corpus, …
  std::int64_t step = 0, steps = 0;        // the last one in metrics.jsonl, and the last one to come
  std::string unit;                        // of the loss: "nats per token"; those of other units do not compare
  // Of the best evaluation: that of the best checkpoint, or of the average where it is better.
  std::optional<double> best_loss, bits_per_byte;
  // What else it measured, by name. BLEU, which not every evaluation has, is the last one.
  std::vector<std::pair<std::string, double>> measures;
  // The one of them that tells most: by which the best is chosen, or else BLEU, or the share of right tokens.
  std::string measure;
  double elapsed_s = 0;
  // "running" (a process trains it now), "finished", "stopped early" (by eval.patience), or "stopped" before its end.
  std::string state;

  std::optional<double> measured(std::string_view name) const;
};

// Throws Error when a file of the run is broken.
RunSummary summarize_run(const RunFolder& run);
// The runs in a folder, at any depth, in the order of their paths; the folder itself where it is a run. Throws Error
// when it is no folder.
std::vector<RunFolder> runs_below(const std::filesystem::path& folder);

}  // namespace tapeformer
