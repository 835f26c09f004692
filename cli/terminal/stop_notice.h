// Tells the user what a training that was asked to stop is still waiting for.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "train/loop/training_pace.h"

namespace tapeformer {

// A text such as "stopping when the micro-step under way has ended, in about 40 s".
std::string stop_text(const TrainingPace::Now& now);

// A thread that lives as long as the training. If the training still runs `patience_s` after a stop was requested, the
// thread says once when it will end. If the system refuses the thread, nothing is said.
class StopNotice {
 public:
  // `requested` and `notify` are called on that thread.
  StopNotice(std::function<bool()> requested, const TrainingPace& pace, std::function<void(const std::string&)> notify,
             double patience_s = 1);
  ~StopNotice();
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  bool ended_within(double seconds);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace tapeformer
