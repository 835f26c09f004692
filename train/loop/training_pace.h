// Estimates how long a training takes to reach a point where it can stop.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tapeformer {

// The training reports each piece of work that it begins, such as a micro-step or an evaluation; it cannot stop within
// a piece. Another thread may ask for the estimate at any time.
class TrainingPace {
 public:
  // Says that the previous piece has ended and this one begins.
  void begin(const std::string& piece);

  struct Now {
    std::string piece;  // empty before the first one
    // The estimate, which assumes that the piece takes as long as the last piece with the same name; nullopt if this is
    // the first one.
    std::optional<double> seconds_left = {};
  };
  Now now() const;

 private:
  mutable std::mutex mutex_;
  std::string piece_;
  double begin_ = 0;                       // when it began, by steady_seconds()
  std::map<std::string, double> seconds_;  // how long the last piece with each name took
};

}  // namespace tapeformer
