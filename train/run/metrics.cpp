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
#include "core/lines.h"
#include "train/run/disk.h"

namespace tapeformer {

using Json = nlohmann::ordered_json;

namespace {

std::string last_error() { return std::generic_category().message(errno); }

bool is_metrics(const Json& line) {
  return line.is_object() && line.contains("step") && line["step"].is_number_integer();
}

Json parse(std::string_view line) { return Json::parse(line, nullptr, /*allow_exceptions=*/false); }

// The lines that are whole: a last line without its newline is left out.
std::vector<std::string_view> whole_lines(std::string_view bytes) {
  return split_lines(bytes.substr(0, bytes.rfind('\n') + 1));
}

}  // namespace

MetricsWriter::MetricsWriter(std::filesystem::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  check(fd_ >= 0, "cannot open ", path_.string(), ": ", last_error());
}

MetricsWriter::~MetricsWriter() { ::close(fd_); }

void MetricsWriter::write(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  check(is_metrics(line), "metrics: expected an object with a whole number `step`, got ", text);
  write_all(fd_, text + "\n", path_);
}

void MetricsWriter::sync() {
  const bool synced = ::fsync(fd_) == 0;  // before check(): the order in which arguments are evaluated is not defined
  check(synced, "cannot write ", path_.string(), " to disk: ", last_error());
}

void truncate_metrics(const std::filesystem::path& path, std::int64_t step) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  const MappedFile file(path);
  std::string kept;
  for (const std::string_view line : whole_lines(file.bytes())) {
    const Json json = parse(line);
    if (is_metrics(json) && json["step"].get<std::int64_t>() <= step) kept.append(line) += '\n';
  }
  if (kept != file.bytes()) write_file_atomically(path, kept);
}

std::vector<Json> read_metrics(const std::filesystem::path& path) {
  const MappedFile file(path);
  std::vector<Json> lines;
  for (const std::string_view line : whole_lines(file.bytes())) {
    lines.push_back(parse(line));
    check(is_metrics(lines.back()), path.string(), ":", lines.size(),
          ": expected an object with a whole number `step`, got ", line);
  }
  return lines;
}

}  // namespace tapeformer
