// How fast a training is, and how long it takes to reach a point where it can stop.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tapeformer {

// The speed of the last steps: the sum of their tokens divided by the sum of their seconds, where each step weighs 0.95
// times as much as the one after it. A mean of the speeds of single steps would be too high where they differ.
class RecentSpeed {
 public:
  // Returns the tokens per second, with this step as the last one.
  double after_step(std::int64_t tokens, double seconds) {
    tokens_ = kDecay * tokens_ + static_cast<double>(tokens);
    seconds_ = kDecay * seconds_ + seconds;
    return tokens_ / seconds_;
  }

 private:
  static constexpr double kDecay = 0.95;
  double tokens_ = 0, seconds_ = 0;
};

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
