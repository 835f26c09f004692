// The line that shows the progress of long work: on a terminal it is rewritten in place; elsewhere (a log file) a new
// line appears now and then.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/steady_clock.h"

namespace tapeformer {

// A part of a line, in ASCII. If a line is too narrow for all its parts, those with the highest rank are left out
// first.
struct ProgressPart {
  std::string text;
  int rank;
};

// Joins the parts, two spaces apart, to a line of at most `columns` columns. Parts that do not fit are left out, the
// highest rank first; the last remaining part is cut. 0: no limit.
std::string fit_line(std::vector<ProgressPart> parts, int columns);

class ProgressLine {
 public:
  static constexpr double kTerminalInterval = 0.1, kLogInterval = 10;  // the least number of seconds between two lines

  // `columns` is called for every line and returns the width as terminal_columns() does; `now` returns the seconds
  // since some fixed moment.
  ProgressLine(std::ostream& out, std::function<int()> columns, std::function<double()> now = steady_seconds);
  // The line of this process, on standard error.
  static ProgressLine standard_error();

  // Whether the last line is old enough for a new one.
  bool is_due() const;
  // Replaces the last line by these parts.
  void show(const std::vector<ProgressPart>& parts);
  // Ends the line, if one is visible.
  void end();
  // Removes the line, if it is visible.
  void clear();
  // Removes the line that is visible now, whichever object shows it, so that a message can be written there.
  static void clear_visible();

 private:
  std::ostream& out_;
  std::function<int()> columns_;
  std::function<double()> now_;
  double next_ = 0;
  bool started_ = false;
};

// Shows a line "evaluating 45%  12s left" on standard error during one piece of work, unless the command is quiet; on a
// terminal it is removed at the end. In a log, work that ends within ProgressLine::kLogInterval is not mentioned.
ProgressCallback show_progress(std::string what);

}  // namespace tapeformer
