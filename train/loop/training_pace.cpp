#include "train/loop/training_pace.h"

#include <algorithm>

namespace tapeformer {

void TrainingPace::begin(const std::string& piece) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (!piece_.empty()) seconds_[piece_] = std::chrono::duration<double>(now - begin_).count();
  piece_ = piece;
  begin_ = now;
}

TrainingPace::Now TrainingPace::now() const {
  const std::lock_guard lock(mutex_);
  const auto last = seconds_.find(piece_);
  if (last == seconds_.end()) return {piece_};
  return {piece_, std::max(0.0, last->second - std::chrono::duration<double>(Clock::now() - begin_).count())};
}

}  // namespace tapeformer
