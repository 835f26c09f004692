// The line that shows how far a run is.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "train/trainer.h"

namespace tapeformer {

// "42s", "3m12s", "2h05m", "3d04h", to the nearest unit; "?" for a number that is not a duration.
std::string format_duration(double seconds);

// "23.10", and "5.4e85" from a million on, where more digits tell nothing.
std::string format_perplexity(double value);

// "step 1200/2000  60%  loss 1.8857  lr 0.000353  41.2k tokens/s  52s elapsed  35s left"
std::string format_progress(const ProgressState& state);

// The width in columns of the terminal behind a file descriptor; 0 when it is not a terminal.
int terminal_columns(int fd);

// Shows the state: on a terminal one line that is rewritten in place, elsewhere (a log file) a new line now and then.
class ProgressLine {
 public:
  static constexpr double kTerminalInterval = 0.1, kLogInterval = 10;  // seconds between two lines, at least

  // `columns` is called for every line, and returns what terminal_columns() returns; `now` returns seconds from any
  // origin.
  ProgressLine(std::ostream& out, std::function<int()> columns, std::function<double()> now = steady_seconds);

  // Shows the state unless the last line is too recent.
  void update(const ProgressState& state);
  // Shows the state in any case and ends the line.
  void finish(const ProgressState& state);
  // Clears the line so that a message can be written in its place; the next update() shows it again.
  void clear();

  // The monotonic clock, in seconds.
  static double steady_seconds();

 private:
  void show(const ProgressState& state, int columns);

  std::ostream& out_;
  std::function<int()> columns_;
  std::function<double()> now_;
  double next_ = 0;
  bool started_ = false, visible_ = false;
};

}  // namespace tapeformer
