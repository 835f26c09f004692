// The page of one or several runs: their curves, and what they are.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "train/run/run_folder.h"

namespace tapeformer {

// What the page shows of runs: {"runs": [{"name", "config" (config.toml's text), "train", "eval", "watch", "samples",
// "machines"}]}. "train" and "eval" have a list of numbers, or null, for each key of the lines of metrics.jsonl; the
// lines of "eval" are those with eval_loss. Where all runs together have more than 8000 lines of "train", each point is
// the mean of "per_point" lines. "watch" is the same of the norms of layers, with keys such as "grad blocks.0".
// "samples" are the lines with samples, at most 40 of all runs, from the first to the last; a long text is cut.
// "machines" are the entries of machine.json. Throws Error when a file of a run is missing or broken.
nlohmann::ordered_json run_report_data(std::span<const RunFolder> runs);
// The page as HTML.
std::string run_report(std::span<const RunFolder> runs);
// Writes the page; the file is replaced as a whole or not at all.
void write_run_report(std::span<const RunFolder> runs, const std::filesystem::path& to);

}  // namespace tapeformer
