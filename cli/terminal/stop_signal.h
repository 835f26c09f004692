// Signals that ask the program to stop: the training loop saves the last whole step, and returns.
#pragma once

#include <signal.h>

#include <array>
#include <span>

namespace tapeformer {

// The signals that a training heeds: SIGPIPE says that whoever reads its messages through a pipe has gone.
inline constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};

// While an object lives, the first of its signals only sets a flag. Where SIGHUP is one of them, a standard error whose
// terminal has gone counts as SIGHUP, and where SIGPIPE is one, a pipe that nobody reads any more as SIGPIPE. A signal
// that was ignored before stays ignored (nohup ignores SIGHUP).
//
// Another signal, unless one of the two is SIGPIPE, ends the process at once, as it does by default, unless it comes
// within a tenth of a second: programs such as timeout(1) send their signal twice. When there is work to save, only
// another SIGINT does so: a session that ends sends several signals.
//
// The destructor restores the handlers that were there before. One object at a time; a second one throws Error. The
// other functions are static, since signals reach the whole process.
class StopSignal {
 public:
  explicit StopSignal(std::span<const int> signals = kStopSignals);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool requested() { return signal() != 0; }
  // The first of the signals that came; 0 before any.
  static int signal();
  // From now on there is work to save.
  static void work_begins();
};

}  // namespace tapeformer
