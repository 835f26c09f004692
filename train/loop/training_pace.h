// Estimates how long a training takes to reach a point where it can stop.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tapeformer {

// The training reports which piece of work it begins; it cannot stop within a piece: a micro-step, an evaluation.
// Another thread may ask for the estimate meanwhile.
class TrainingPace {
 public:
  // Says that the piece before has ended and this one begins.
  void begin(const std::string& piece);

  struct Now {
    std::string piece;  // empty before the first one
    // Estimated by the last piece of this kind; nullopt where this is the first one.
    std::optional<double> seconds_left = {};
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
