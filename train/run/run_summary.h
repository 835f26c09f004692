// What a table of runs says of each: read from its folder, without its model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/run/run_folder.h"

namespace tapeformer {

struct RunSummary {
  RunFolder run;
  std::string type;                                // the model's family
  std::optional<std::int64_t> parameters;          // of the newest checkpoint; nothing while there is none
  std::string data;                                // what it learns from: a file, a corpus, …
  std::int64_t step = 0, steps = 0;                // the last one in metrics.jsonl, and the last one to come
  std::optional<double> best_loss, bits_per_byte;  // of the evaluation with the smallest loss
  double elapsed_s = 0;
  std::string state;  // "running" (a process trains it now), "finished", or "stopped" before its last step
};

// Throws Error when a file of the run is broken.
RunSummary summarize_run(const RunFolder& run);
// The runs in a folder, at any depth, in the order of their paths; the folder itself where it is a run. Throws Error
// when it is no folder.
std::vector<RunFolder> runs_below(const std::filesystem::path& folder);

}  // namespace tapeformer
