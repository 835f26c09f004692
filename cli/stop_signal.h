// SIGINT and SIGTERM as a wish to stop: the training loop ends its step, saves and returns.
#pragma once

namespace tapeformer {

// While it lives, the first SIGINT or SIGTERM only sets a flag. Another SIGINT ends the process at once the default
// way, unless it comes within a tenth of a second: programs such as timeout(1) send theirs twice. Destruction restores
// the handlers that were there before. One at a time; a second one throws Error.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const { return signal() != 0; }
  // SIGINT or SIGTERM, the first that came; 0 before any.
  int signal() const;
};

}  // namespace tapeformer
