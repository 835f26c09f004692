#include "cli/terminal/stop_notice.h"

#include <chrono>
#include <cmath>
#include <system_error>

#include "core/error.h"

namespace tapeformer {

std::string stop_text(const TrainingPace::Now& now) {
  const std::string piece =
      now.piece.empty() ? "stopping" : str_cat("stopping when the ", now.piece, " under way has ended");
  if (!now.seconds_left) return piece + "; how long that takes has not been measured yet";
  return str_cat(piece, ", in about ", static_cast<std::int64_t>(std::ceil(*now.seconds_left)), " s");
}

StopNotice::StopNotice(std::function<bool()> requested, const TrainingPace& pace,
                       std::function<void(const std::string&)> notify, double patience_s) {
  try {
    thread_ = std::thread([this, requested = std::move(requested), &pace, notify = std::move(notify), patience_s] {
      constexpr double kLook_s = 0.1;
      while (!requested()) {
        if (ended_within(kLook_s)) return;
      }
      if (!ended_within(patience_s)) notify(stop_text(pace.now()));
    });
  } catch (const std::system_error&) {  // the system has no thread for it
  }
}

StopNotice::~StopNotice() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool StopNotice::ended_within(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ended_; });
}

}  // namespace tapeformer
