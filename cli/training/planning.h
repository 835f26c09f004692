// The option --minutes: a new training is planned for the time that it is given.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "tasks/plan/plan.h"
#include "train/config/config.h"

namespace tapeformer::cli {

// Returns the minutes that the option gives; nullopt if it is not given. Throws UsageError unless they are a number
// above 0, and if train.steps or train.minutes, which also say when the training ends, is among the options.
std::optional<double> planned_minutes(const std::optional<std::string>& option, const ConfigOverrides& overrides);

// Returns the options of a resumed run, where --minutes, if given, becomes train.minutes. If the run had no
// train.minutes before, --minutes also removes the limit train.steps. Throws UsageError as planned_minutes() does.
ConfigOverrides with_minutes(const ConfigOverrides& overrides, const std::optional<std::string>& minutes,
                             const Config& run);

// The configuration of a new training: the keys of the file, if there is one, and of the options, completed by the
// plan.
struct PlannedTraining {
  Plan plan;
  bool initial_tokenizers;  // use_initial_tokenizers()
};

// Plans a training of so many minutes. Keys that the file or the options give stay, but the minutes replace what a file
// says about steps and time: train.steps, train.minutes, schedule.kind and schedule.total. Logs what was replaced or
// implied. Throws UsageError as make_plan() does.
PlannedTraining plan_training(const std::string& file, const ConfigOverrides& overrides, double minutes,
                              const StepTimer& step_seconds);

// The chosen keys in a table with a line for each: key, value, reason.
std::string plan_text(std::span<const PlannedKey> keys);
// A list of objects with "key", "value" (as one writes it on the command line) and "reason".
nlohmann::ordered_json plan_json(std::span<const PlannedKey> keys);
// Logs plan_text().
void log_plan(const Plan& plan, double minutes);

}  // namespace tapeformer::cli
