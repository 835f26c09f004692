#include "tasks/plan/speed.h"

#include <algorithm>
#include <memory>

#include "train/loop/dry_run.h"
#include "train/time/steady_clock.h"

namespace tapeformer {

StepTimer measuring_timer(double minutes) {
  const double budget = std::max(tuning::kMeasuringLeast, tuning::kMeasuringShare * 60 * minutes);
  const auto spent = std::make_shared<double>(0);
  return [budget, spent](const ResolvedConfig& config) -> std::optional<double> {
    if (*spent >= budget) return std::nullopt;
    const double begin = steady_seconds();
    const auto read = [](const ResolvedConfig& with) { return with.task_row().dummy(with, nullptr); };
    // dry_run() times steps for half of its seconds.
    const DryRun measured = dry_run(config, read, {.seconds = 2 * budget / tuning::kMeasurements});
    *spent += steady_seconds() - begin;
    return measured.step_seconds;
  };
}

}  // namespace tapeformer
