// Lines of standard input, for the commands that answer each of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/progress_line.h"

namespace tapeformer::cli {

// While lines are read, a line "translating line 1200  45%  12s left" on standard error shows how far the work is,
// where standard output is not a terminal itself; the share is known when standard input is a file.
class InputLines {
 public:
  // `doing` is what the progress line calls the work.
  explicit InputLines(std::string doing);
  ~InputLines() { progress_.clear(); }
  InputLines(const InputLines&) = delete;
  InputLines& operator=(const InputLines&) = delete;

  // Some lines, at most `most`, without their ends: the first one is waited for, of those behind it only what is there
  // already is taken, so that a line typed, or sent by another program, is answered at once. False at the end of the
  // input. Throws Error when it cannot be read.
  bool next(std::int64_t most, std::vector<std::string>& lines);
  // One line.
  bool next(std::string& line);

 private:
  std::string take();
  void read_more();
  void show_progress();

  std::string doing_;
  std::string buffer_;
  std::size_t seen_ = 0;  // bytes of the buffer without a line's end
  bool at_end_ = false;
  std::int64_t lines_ = 0, bytes_ = 0, all_bytes_ = 0;  // taken; of the whole file, 0 where it is none
  bool shows_progress_;
  double begin_ = ProgressLine::steady_seconds();
  ProgressLine progress_ = ProgressLine::standard_error();
};

}  // namespace tapeformer::cli
