// A page that shows the curves and configurations of one or several runs.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "train/run/run_folder.h"

namespace tapeformer {

// Returns the data of the page: {"runs": [{"name", "config" (config.toml's text), "train", "last", "eval", "watch",
// "samples", "machines", …}]}. "train" and "eval" have a list of numbers, or null, for each key of the lines of
// metrics.jsonl; the lines of "eval" are those with eval_loss. If all runs together have more than 8000 lines of
// "train", each point is the mean of "per_point" lines. "last" has the numbers of the last line. "watch" has the
// same form, with the norms of layers under keys such as "grad blocks.0". "samples" are the lines with samples, at most
// 40 for all runs, from the first to the last; long texts are cut. "machines" are the entries of machine.json. Throws
// Error if a file of a run is missing or broken.
nlohmann::ordered_json run_report_data(std::span<const RunFolder> runs);
// Returns the page as HTML.
std::string run_report(std::span<const RunFolder> runs);
// Writes the page; the file is replaced as a whole or not at all.
void write_run_report(std::span<const RunFolder> runs, const std::filesystem::path& to);

}  // namespace tapeformer
