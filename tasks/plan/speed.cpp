#include "tasks/plan/speed.h"

#include <algorithm>
#include <memory>
#include <new>

#include "autograd/tensor/allocator.h"
#include "core/steady_clock.h"
#include "train/loop/dry_run.h"

namespace tapeformer {

StepTimer measuring_timer(double minutes) {
  const double budget = std::max(tuning::kMeasuringLeast, tuning::kMeasuringShare * 60 * minutes);
  const auto spent = std::make_shared<double>(0);
  const double part = std::min(budget / tuning::kMeasurements, tuning::kLongestMeasurement);
  return [=](const ResolvedConfig& config) -> std::optional<double> {
    if (*spent >= budget) return std::nullopt;
    const double begin = steady_seconds();
    const auto read = [](const ResolvedConfig& with) { return with.task_row().dummy(with, nullptr); };
    std::optional<double> seconds;
    try {
      seconds = dry_run(config, read, {.seconds = 2 * part}).step_seconds;  // it times steps for half of these seconds
    } catch (const OutOfMemory&) {
    } catch (const std::bad_alloc&) {
    }
    *spent += steady_seconds() - begin;
    return seconds;
  };
}

}  // namespace tapeformer
