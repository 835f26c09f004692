// metrics.jsonl: one JSON object on each line, with the step that it belongs to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/hash.h"

namespace tapeformer {

// Identifies the part of metrics.jsonl that existed when a checkpoint was saved, so that a resumed run notices if it
// has changed. It leaves out the lines, and parts of lines, that are removed when a finished run continues (kAtEnd,
// averages). A checkpoint of an older version has 0 bytes.
struct MetricsMark {
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;
};

// Appends lines. Each line is one write(2), so that another process, or a kill of this one, finds only whole lines.
// Numbers read back with the same bits; NaN and infinity, which JSON does not have, become null, and bytes that are not
// UTF-8 become U+FFFD.
class MetricsWriter {
 public:
  // Throws Error when the file cannot be opened. Call truncate_metrics() first on a file that a killed process wrote.
  explicit MetricsWriter(std::filesystem::path path);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  // Throws Error unless the line is an object with a whole number `step`, whose `tokens`, `elapsed_s` and
  // `peak_memory_bytes` are numbers where it has them, and when the disk is full.
  void write(const nlohmann::ordered_json& line);
  // Waits until all lines are on disk. Call it before a checkpoint is published, so that no checkpoint is ahead of its
  // metrics.
  void sync();
  // The mark of the present content of the file.
  MetricsMark mark() const { return {bytes_, hasher_.digest()}; }

 private:
  void note_lasting(const nlohmann::ordered_json& json, std::string_view line);

  std::filesystem::path path_;
  int fd_ = -1;
  Hasher hasher_;
  std::int64_t bytes_ = 0;
};

// The key that marks what was written only because the run ended. Its value is true for the whole line, or the name of
// one key of the line.
inline constexpr const char* kAtEnd = "at_end";

// Removes the lines after `step`, the lines of an average (it does not belong to a run that continues), and lines that
// a crash has left incomplete, so that a resumed run has each line once. If the run `goes_on` from that step, also
// removes what was written only because it ended there. If the file does not begin with what the mark describes, keeps
// a copy of it and returns a message about that, else "". The file is replaced as a whole or not at all; a missing file
// is not created, and the message says so if the mark describes lines. Throws Error.
std::string truncate_metrics(const std::filesystem::path& path, std::int64_t step, bool goes_on = false,
                             const MetricsMark& mark = {});

// Returns all lines in order, without a last line that is still being written. Throws Error, which names the file and
// the line, for any other line that is not a metrics object, and if the file is missing.
std::vector<nlohmann::ordered_json> read_metrics(const std::filesystem::path& path);

}  // namespace tapeformer
