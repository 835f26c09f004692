// A sweep: models of several sizes are trained, a scaling law of the smaller ones predicts the loss of the largest, and
// only then the largest is trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer::cli {

struct SweepRequest {
  std::string config;  // the file of the configuration
  ConfigOverrides overrides = {};
  // WIDTH or LAYERSxWIDTH each, in any order; empty: planned_widths() of the configuration's width.
  std::vector<std::string> sizes = {};
  std::vector<std::int64_t> seeds = {1};
  std::optional<double> tokens = {};   // about how many tokens each training reads
  std::optional<double> minutes = {};  // about how long all trainings take together; given if `tokens` is not
  std::string entropy = "free";        // as for irreducible_loss()
  std::filesystem::path out;
};

// The widths of a sweep whose largest model has this width: 3 to 8 sixteenths of it, as multiples of `unit`, and
// itself. The largest model has four times the parameters of the one before it. Throws UsageError if the width is too
// small for that.
std::vector<std::int64_t> planned_widths(std::int64_t largest, std::int64_t unit);

// Trains the sizes one after the other, from each seed, below `out`: all but the largest in `sizes/`, the largest in
// `largest/`. Every training reads equally many tokens; the width decides the learning rate as in plans (tasks/plan).
// Before the largest size, `prediction.json` is written, which does not change once that training has begun. A sweep
// that was stopped goes on, and does not train finished sizes again. Returns laws_json() of the smaller sizes with
//   "sweep": {"written" (when the prediction was), "largest" (N), "predicted": {"value", "low", "high"}, "measured",
//   "error" (measured / predicted − 1), "tokens" (of each training), "seconds"},
// or nullopt if a signal asked to stop. Throws UsageError for a configuration that has no such sweep.
std::optional<nlohmann::ordered_json> run_sweep(const SweepRequest& request);

// Returns that JSON as a text for people.
std::string sweep_text(const nlohmann::ordered_json& result);

}  // namespace tapeformer::cli
