#include "train/loop/training_pace.h"

#include <algorithm>

#include "core/steady_clock.h"

namespace tapeformer {

void TrainingPace::begin(const std::string& piece) {
  const std::lock_guard lock(mutex_);
  const double now = steady_seconds();
  if (!piece_.empty()) seconds_[piece_] = now - begin_;
  piece_ = piece;
  begin_ = now;
}

TrainingPace::Now TrainingPace::now() const {
  const std::lock_guard lock(mutex_);
  const auto last = seconds_.find(piece_);
  if (last == seconds_.end()) return {piece_};
  return {piece_, std::max(0.0, last->second - (steady_seconds() - begin_))};
}

}  // namespace tapeformer
