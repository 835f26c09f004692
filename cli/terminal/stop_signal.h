// Signals that ask the program to stop: the training loop ends its step, saves and returns.
#pragma once

namespace tapeformer {

// While it lives, the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 only sets a flag. A signal that was ignored before stays
// ignored (nohup ignores SIGHUP). Another SIGINT ends the process at once, as it does by default, unless it comes
// within a tenth of a second: programs such as timeout(1) send their signal twice. The destructor restores the handlers
// that were there before. One object at a time; a second one throws Error.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const { return signal() != 0; }
  // The first of the signals that came; 0 before any.
  int signal() const;
};

}  // namespace tapeformer
