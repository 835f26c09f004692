// Reads lines of standard input, for the commands that answer each line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/progress_line.h"

namespace tapeformer::cli {

// While lines are read, a progress line such as "translating line 1200  45%  12s left" is shown on standard error,
// unless standard output is a terminal; the share is known if standard input is a file.
class InputLines {
 public:
  // `doing` is the verb of the progress line, such as "translating".
  explicit InputLines(std::string doing);
  ~InputLines() { progress_.clear(); }
  InputLines(const InputLines&) = delete;
  InputLines& operator=(const InputLines&) = delete;

  // Reads up to `most` lines, without their line ends: waits for the first one, but takes only those after it that have
  // arrived already, so that a line that is typed, or sent by another program, is answered at once. Returns false at
  // the end of the input. Throws Error when it cannot be read.
  bool next(std::int64_t most, std::vector<std::string>& lines);
  // Reads one line.
  bool next(std::string& line);
  // Whether a user types the lines and sees the answers. A line that cannot be answered then gets a warning, where
  // other input ends with an error.
  bool typed() const { return typed_; }

 private:
  std::string take();
  void read_more();
  void show_progress();

  std::string doing_;
  std::string buffer_;
  std::size_t seen_ = 0;  // number of buffered bytes in which no line end was found
  bool at_end_ = false;
  // The lines and bytes that were taken; the bytes of the file that were unread at first, or 0 if standard input is not
  // a file.
  std::int64_t lines_ = 0, bytes_ = 0, all_bytes_ = 0;
  bool typed_, shows_progress_;
  double begin_ = steady_seconds();
  ProgressLine progress_ = ProgressLine::standard_error();
};

// Reads all of standard input, without a byte order mark at its beginning. Throws Error when it cannot be read.
std::string read_input();

}  // namespace tapeformer::cli
