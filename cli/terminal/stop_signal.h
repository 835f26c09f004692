// Signals that ask the program to stop: the training loop then saves the last whole step, and returns.
#pragma once

#include <signal.h>

#include <array>
#include <span>

namespace tapeformer {

// The signals that stop a training: SIGPIPE means that the reader of its messages (through a pipe) has gone, SIGXCPU
// that the time of the soft limit (ulimit -S -t) is used up.
inline constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGXCPU};

// While an object lives, the first of its signals only sets a flag. If SIGHUP is one of them, the loss of standard
// error's terminal counts as SIGHUP; if SIGPIPE is one, a pipe without a reader counts as SIGPIPE. A signal that was
// ignored before stays ignored (nohup ignores SIGHUP).
//
// A second signal ends the process at once, as it does by default, with three exceptions: if one of the two is SIGPIPE,
// if the second is SIGXCPU, and if it comes within a tenth of a second, since programs such as timeout(1) send their
// signal twice. Once there is work to save (work_begins()), only a second SIGINT ends the process, since the end of a
// login session sends several other signals.
//
// The destructor restores the previous handlers. Only one object may exist at a time; a second one throws Error. The
// other functions are static, since signals concern the whole process.
class StopSignal {
 public:
  explicit StopSignal(std::span<const int> signals = kStopSignals);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool requested() { return signal() != 0; }
  // The first signal that came; 0 if none has come.
  static int signal();
  // Declares that from now on there is work to save.
  static void work_begins();
  // Declares that the first SIGINT from now on asks for a cool-down; the next one is then the first that stops.
  static void interrupt_cools_down();
  static bool cooldown_requested();
};

}  // namespace tapeformer
