// How long a training takes to come to a place where it can stop.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tapeformer {

// The training tells which piece of work it begins, each without a place to stop in it: a micro-step, an evaluation.
// Another thread may ask meanwhile.
class TrainingPace {
 public:
  // The piece before has ended.
  void begin(const std::string& piece);

  struct Now {
    std::string piece;                        // empty before the first one
    std::optional<double> seconds_left = {};  // by the last piece of its kind; nothing where this is the first one
  };
  Now now() const;

 private:
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  std::string piece_;
  Clock::time_point begin_;
  std::map<std::string, double> seconds_;  // of the last piece of each kind
};

}  // namespace tapeformer
