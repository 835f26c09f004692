// The line that shows how far long work is: on a terminal it is rewritten in place, elsewhere (a log file) a new one
// appears now and then.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/progress.h"

namespace tapeformer {

// A part of a line, in ASCII. Where a line is too narrow for all its parts, those with the highest rank are left out
// first.
struct ProgressPart {
  std::string text;
  int rank;
};

// The parts, two spaces apart, in so many columns: as many as fit, and of the one with the lowest rank what fits.
// Without a limit (columns 0) all parts.
std::string fit_line(std::vector<ProgressPart> parts, int columns);

class ProgressLine {
 public:
  static constexpr double kTerminalInterval = 0.1, kLogInterval = 10;  // seconds between two lines, at least

  // `columns` is called for every line, and returns what terminal_columns() returns; `now` returns seconds from any
  // origin.
  ProgressLine(std::ostream& out, std::function<int()> columns, std::function<double()> now = steady_seconds);
  // The line of this process, on standard error.
  static ProgressLine standard_error();

  // Whether the last line is old enough for a new one.
  bool is_due() const;
  // Shows the parts in place of the last line.
  void show(const std::vector<ProgressPart>& parts);
  // Ends the line, if one is visible.
  void end();
  // Removes the line, if it is visible.
  void clear();
  // Removes the line that is visible now, whichever it is, so that a message can be written in its place.
  static void clear_visible();

  // The monotonic clock, in seconds.
  static double steady_seconds();

 private:
  std::ostream& out_;
  std::function<int()> columns_;
  std::function<double()> now_;
  double next_ = 0;
  bool started_ = false;
};

// A line "evaluating 45%  12s left" on standard error while one piece of work lasts, unless the command is quiet; on a
// terminal it is removed at the end. In a log, work that ends within ProgressLine::kLogInterval is not mentioned.
ProgressCallback show_progress(std::string what);

}  // namespace tapeformer
