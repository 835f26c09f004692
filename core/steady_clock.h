// The monotonic clock.
#pragma once

#include <chrono>

namespace tapeformer {

// Returns the seconds since some moment that is fixed for the process.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tapeformer
