// metrics.jsonl: one JSON object a line, each with the step that it belongs to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/hash.h"

namespace tapeformer {

// The beginning of metrics.jsonl that was there when a checkpoint was saved, without what is removed when a run goes on
// from its end. An older version's has 0 bytes.
struct MetricsMark {
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;
};

// Appends lines. Each line is one write(2), so that another process, or a kill of this one, finds only whole lines.
// Numbers are read back with the same bits; NaN and infinity, which JSON does not have, become null, and bytes that are
// no UTF-8 become U+FFFD.
class MetricsWriter {
 public:
  // Throws Error when the file cannot be opened. Call truncate_metrics() first on a file that a killed process wrote.
  explicit MetricsWriter(std::filesystem::path path);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  // Throws Error unless the line is an object with a whole number `step`, and when the disk is full.
  void write(const nlohmann::ordered_json& line);
  // Waits until all lines are on disk. Call it before a checkpoint is published, so that no checkpoint is ahead of its
  // metrics.
  void sync();
  // Of what the file holds now.
  MetricsMark mark() const { return {bytes_, hasher_.digest()}; }

 private:
  void note_lasting(const nlohmann::ordered_json& json, std::string_view line);

  std::filesystem::path path_;
  int fd_ = -1;
  Hasher hasher_;
  std::int64_t bytes_ = 0;
};

// The key of what was written only because the run ended: true, for the whole line, or the name of a key in it.
inline constexpr const char* kAtEnd = "at_end";

// Removes the lines after `step`, those of an average, which is not that of a run that goes on, and lines that a crash
// has left incomplete, so that a resumed run has each line once. Where the run `goes_on` from that step, it removes
// what was written only because it ended there. Where the file does not begin with what the mark is of, it is kept
// beside as it is found: returns what to tell about that, else "". The file is replaced as a whole or not at all; a
// missing file is not made. Throws Error.
std::string truncate_metrics(const std::filesystem::path& path, std::int64_t step, bool goes_on = false,
                             const MetricsMark& mark = {});

// All lines in order, without a last line that is still being written. Throws Error naming path and line for any
// other line that is not a metrics object, and when the file is missing.
std::vector<nlohmann::ordered_json> read_metrics(const std::filesystem::path& path);

}  // namespace tapeformer
