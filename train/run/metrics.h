// metrics.jsonl: one JSON object a line, each with the step that it belongs to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tapeformer {

// Appends lines. Each is one write(2), so that a reader, or a kill of this process, finds whole lines. Numbers read
// back to the same bits; NaN and infinity, which JSON has not, become null.
class MetricsWriter {
 public:
  // Throws Error when the file cannot be opened. A file that a killed process wrote is given to truncate_metrics()
  // first.
  explicit MetricsWriter(std::filesystem::path path);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  // Throws Error unless the line is an object with a whole number `step`, and when the disk is full.
  void write(const nlohmann::ordered_json& line);
  // Returns when all lines are on disk: before a checkpoint is published, so that no checkpoint is ahead of its
  // metrics.
  void sync();

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

// Drops the lines after `step`, and what a crash has left incomplete, so that a resumed run goes on without gaps or
// doubles. The file changes at once or not at all; a missing file is left missing. Throws Error.
void truncate_metrics(const std::filesystem::path& path, std::int64_t step);

// All lines in order; a last line that is still being written is left out. Throws Error naming path and line for any
// other line that is not a metrics object, and when the file is missing.
std::vector<nlohmann::ordered_json> read_metrics(const std::filesystem::path& path);

}  // namespace tapeformer
