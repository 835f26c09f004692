// Callbacks that report the progress of a long task.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace tapeformer {

// Called from time to time with the share of the work that is done, from 0 to 1.
using ProgressCallback = std::function<void(double share)>;

// Starts the display of one task. `what` names the task ("encoding the text").
using ProgressMaker = std::function<ProgressCallback(std::string what)>;

// Starts the display of a task, if `progress` is set.
inline ProgressCallback start_progress(const ProgressMaker& progress, std::string what) {
  return progress ? progress(std::move(what)) : ProgressCallback();
}

}  // namespace tapeformer
