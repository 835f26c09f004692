// metrics.jsonl: one JSON object a line, each with the step that it belongs to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tapeformer {

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

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

// Removes the lines after `step`, and lines that a crash has left incomplete, so that a resumed run has each line once.
// The file is replaced as a whole or not at all; a missing file is not made. Throws Error.
void truncate_metrics(const std::filesystem::path& path, std::int64_t step);

// All lines in order, without a last line that is still being written. Throws Error naming path and line for any
// other line that is not a metrics object, and when the file is missing.
std::vector<nlohmann::ordered_json> read_metrics(const std::filesystem::path& path);

}  // namespace tapeformer
