// Callbacks by which a long task reports its progress.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace tapeformer {

// Called now and then with the share of the work that is done, from 0 to 1.
using ProgressCallback = std::function<void(double share)>;

// Starts the display of one task. `what` names the task ("encoding the text").
using ProgressMaker = std::function<ProgressCallback(std::string what)>;

// The display of a task, where there is one.
inline ProgressCallback start_progress(const ProgressMaker& progress, std::string what) {
  return progress ? progress(std::move(what)) : ProgressCallback();
}

}  // namespace tapeformer
