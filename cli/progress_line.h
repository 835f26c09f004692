// The line that tells how far a run is.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "train/trainer.h"

namespace tapeformer {

// "42s", "3m12s", "2h05m", "3d04h", to the nearest unit; "?" for what is no duration.
std::string format_duration(double seconds);

// "step 1200/2000  60%  loss 1.8857  lr 0.000353  41.2k tokens/s  52s elapsed  35s left"
std::string format_progress(const ProgressState& state);

// Columns of the terminal that a file descriptor leads to; 0 when it is no terminal.
int terminal_columns(int fd);

// Shows the state: on a terminal one line rewritten in place, elsewhere (a log file) a plain line now and then.
class ProgressLine {
 public:
  static constexpr double kTerminalInterval = 0.1, kLogInterval = 10;  // seconds between two lines, at least

  // `columns` as terminal_columns() gives them, asked for every line; `now` in seconds from any origin.
  ProgressLine(std::ostream& out, std::function<int()> columns, std::function<double()> now = steady_seconds);

  // Shows the state unless the last one is too recent.
  void update(const ProgressState& state);
  // Shows the state in any case and ends the line.
  void finish(const ProgressState& state);
  // Clears the line, for a message to be written in its place; the next update() shows it again.
  void clear();

  // The monotonic clock.
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
