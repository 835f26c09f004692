#include "cli/options/input_lines.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <utility>

#include "cli/terminal/standard_input.h"
#include "cli/terminal/terminal.h"
#include "core/text/lines.h"
#include "core/text/numbers.h"
#include "core/text/utf8.h"

namespace tapeformer::cli {
namespace {

bool is_readable() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

// The number of unread bytes of standard input, if it is a file; else 0.
std::int64_t bytes_left_of_file() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return status.st_size - ::lseek(STDIN_FILENO, 0, SEEK_CUR);
}

}  // namespace

InputLines::InputLines(std::string doing)
    : doing_(std::move(doing)),
      all_bytes_(bytes_left_of_file()),
      typed_(::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0),
      shows_progress_(!is_quiet() && ::isatty(STDOUT_FILENO) == 0) {}

bool InputLines::next(std::int64_t most, std::vector<std::string>& lines) {
  lines.clear();
  show_progress();
  while (static_cast<std::int64_t>(lines.size()) < most) {
    if (buffer_.find('\n', seen_) != buffer_.npos) {
      lines.push_back(take());
      continue;
    }
    seen_ = buffer_.size();
    if (at_end_ || (!lines.empty() && !is_readable())) break;
    read_more();
  }
  if (lines.empty() && !buffer_.empty()) lines.push_back(take());  // a last line without a line end
  lines_ += static_cast<std::int64_t>(lines.size());
  return !lines.empty();
}

bool InputLines::next(std::string& line) {
  std::vector<std::string> lines;
  if (!next(1, lines)) return false;
  line = std::move(lines.front());
  return true;
}

std::string InputLines::take() {
  std::string_view rest = buffer_;
  std::string line(bytes_ == 0 ? without_byte_order_mark(take_line(rest)) : take_line(rest));
  bytes_ += static_cast<std::int64_t>(buffer_.size() - rest.size());
  buffer_.erase(0, buffer_.size() - rest.size());
  seen_ = 0;
  return line;
}

void InputLines::read_more() {
  char bytes[1 << 16];
  const std::size_t count = read_standard_input(bytes);
  at_end_ = count == 0;
  buffer_.append(bytes, count);
}

std::string read_input() {
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  return std::string(without_byte_order_mark(input));
}

// A log (standard error is no terminal) shows nothing before ProgressLine::kLogInterval, so it never mentions short
// work.
void InputLines::show_progress() {
  if (!shows_progress_ || lines_ == 0 || !progress_.is_due()) return;
  const double elapsed = steady_seconds() - begin_;
  if (terminal_columns(STDERR_FILENO) == 0 && elapsed < ProgressLine::kLogInterval) return;
  std::vector<ProgressPart> parts{{doing_ + " line " + std::to_string(lines_), 1}};
  if (all_bytes_ > 0) {
    const double share = static_cast<double>(bytes_) / static_cast<double>(all_bytes_);
    parts.push_back({std::to_string(static_cast<int>(100 * share)) + "%", 2});
    parts.push_back({format_duration(elapsed * (1 - share) / share) + " left", 3});
  }
  progress_.show(parts);
}

}  // namespace tapeformer::cli
