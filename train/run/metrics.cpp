#include "train/run/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "train/run/disk.h"

namespace tapeformer {

using Json = nlohmann::ordered_json;

namespace {

std::string last_error() { return std::generic_category().message(errno); }

// Returns what a line should be and is not; "" for a line of metrics.
std::string missing_in(const Json& line) {
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
    return "an object with a whole number `step`";
  for (const char* const key : {"tokens", "elapsed_s", "peak_memory_bytes"}) {
    if (line.contains(key) && !line[key].is_number()) return str_cat("a number as `", key, "`");
  }
  return "";
}

bool is_metrics(const Json& line) { return missing_in(line).empty(); }

// Returns null for a line that is not JSON.
Json parse(std::string_view line) {
  try {
    return parse_json<Json>(line);
  } catch (const Error&) {
    return nullptr;
  }
}

// Returns the complete lines: a last line without its newline is left out.
std::vector<std::string_view> whole_lines(std::string_view bytes) {
  return split_lines(bytes.substr(0, bytes.rfind('\n') + 1));
}

// Returns what stays of a line, with its newline, when the run continues: everything that was not written only because
// the run ended.
std::string lasting_part(Json json, std::string_view line) {
  if (json.contains("averaged")) return "";
  const auto at_end = json.find(kAtEnd);
  if (at_end == json.end()) return std::string(line) + '\n';
  if (!at_end->is_string()) return "";
  json.erase(at_end->get<std::string>());
  json.erase(kAtEnd);
  return dump_json(json) + '\n';
}

}  // namespace

MetricsWriter::MetricsWriter(std::filesystem::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  check(fd_ >= 0, "cannot open ", path_.string(), ": ", last_error());
  if (!is_file(path_)) return;  // a device has no content to mark
  const std::string bytes = read_file(path_);
  for (const std::string_view line : whole_lines(bytes)) note_lasting(parse(line), line);
}

MetricsWriter::~MetricsWriter() { ::close(fd_); }

void MetricsWriter::write(const Json& line) {
  const std::string text = dump_json(line);
  check(is_metrics(line), "metrics: expected ", missing_in(line), ", got ", text);
  write_all(fd_, text + "\n", path_);
  note_lasting(line, text);
}

void MetricsWriter::note_lasting(const Json& json, std::string_view line) {
  if (!is_metrics(json)) return;
  const std::string part = lasting_part(json, line);
  hasher_.update(part);
  bytes_ += std::ssize(part);
}

void MetricsWriter::sync() {
  const bool synced = ::fsync(fd_) == 0;  // before check(): the order in which arguments are evaluated is not defined
  check(synced, "cannot write ", path_.string(), " to disk: ", last_error());
}

std::string truncate_metrics(const std::filesystem::path& path, std::int64_t step, bool goes_on,
                             const MetricsMark& mark) {
  if (!is_there(path)) {
    if (mark.bytes == 0) return "";
    return str_cat(path.string(), " was removed: the lines of the training until step ", step, " are lost");
  }
  const std::string bytes = read_file(path);
  std::string kept, lasting;
  int unreadable = bytes.empty() || bytes.back() == '\n' ? 0 : 1;  // a line without its end
  for (const std::string_view line : whole_lines(bytes)) {
    const Json json = parse(line);
    if (!is_metrics(json)) {
      ++unreadable;
      continue;
    }
    if (json["step"].get<std::int64_t>() > step) continue;
    const std::string stays = lasting_part(json, line);
    lasting += stays;
    if (goes_on)
      kept += stays;
    else if (!json.contains("averaged"))
      kept.append(line) += '\n';
  }
  const std::string_view before = std::string_view(lasting).substr(0, static_cast<std::size_t>(mark.bytes));
  std::string note;
  if (mark.bytes > 0 && hash_bytes(before) != mark.hash) {
    const std::filesystem::path found = name_for_damaged(path);
    write_file_atomically(found, bytes);
    note = str_cat(path.string(), " has changed since step ", step, " was saved, and ", unreadable,
                   " lines that cannot be read are left out; ", found.string(), " has it as it was found");
  }
  if (kept != bytes) write_file_atomically(path, kept);
  return note;
}

std::vector<Json> read_metrics(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  std::vector<Json> lines;
  for (const std::string_view line : whole_lines(bytes)) {
    lines.push_back(parse(line));
    check(is_metrics(lines.back()), path.string(), ":", lines.size(), ": expected ", missing_in(lines.back()), ", got ",
          line);
  }
  return lines;
}

}  // namespace tapeformer
