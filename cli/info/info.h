// The facts about a training that the command `info` gathers, with or without a dry run, and their output.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/training/model_costs.h"
#include "core/parallel.h"
#include "tasks/plan/plan.h"
#include "train/loop/dry_run.h"

namespace tapeformer::cli {

// Measurements in the metrics of a run.
struct MeasuredRun {
  std::int64_t steps = 0;
  std::optional<double> step_seconds;  // the median over steps between which nothing was evaluated
  double elapsed_seconds = 0;
  std::int64_t peak_bytes = 0;  // 0: unknown
};

// A change of the configuration that saves memory.
struct Advice {
  ConfigOverrides changes;
  std::int64_t peak_bytes;
};

struct Info {
  ResolvedConfig config;
  std::vector<PlannedKey> planned;  // with --minutes: the keys that were chosen for them
  std::string no_data;              // the reason why the data is not read; empty if it is read
  std::string vocab_origin;         // where the size of the vocabulary comes from
  ModelCosts costs;
  std::int64_t machine_bytes = 0;
  double machine_flops = 0;  // operations per second of the machine's matrix products
  std::optional<DryRun> dry_run = std::nullopt;
  double step_seconds = 0;  // measured by the dry run, else estimated from machine_flops
  std::vector<Advice> advice = {};
  std::optional<MeasuredRun> measured = std::nullopt;

  std::int64_t state_bytes() const { return costs.weight_bytes() + costs.gradient_bytes() + costs.optimizer_bytes; }
  std::int64_t peak_bytes() const { return dry_run ? dry_run->peak_bytes : state_bytes(); }
  bool fits() const { return peak_bytes() <= machine_bytes; }
  std::optional<double> evaluation_seconds() const { return dry_run ? dry_run->evaluation_seconds : std::nullopt; }
  // Whether the training ends by train.minutes, before it has done train.steps.
  bool ends_by_clock() const {
    return config.train.minutes > 0 && seconds_of(config.train.steps) > 60 * config.train.minutes;
  }
  // How many steps the training does, with their evaluations.
  std::int64_t steps() const;
  std::int64_t evaluations() const {
    const bool none = dry_run && no_data.empty() && !dry_run->evaluation_seconds;  // there is no validation data
    return none ? 0 : evaluations_in(steps());
  }
  double training_seconds() const {
    return ends_by_clock() ? 60 * config.train.minutes : seconds_of(config.train.steps);
  }
  double step_flops() const { return costs.flops_per_token * static_cast<double>(costs.tokens_per_step); }
  double share_of_peak() const { return step_flops() / step_seconds / machine_flops; }
  const char* method() const { return !dry_run ? "computed" : dry_run->scaled ? "scaled" : "measured"; }

 private:
  std::int64_t evaluations_in(std::int64_t steps) const {
    const std::int64_t every = config.eval.every;
    return every > 0 ? chunk_count(steps, every) : 1;
  }
  double seconds_of(std::int64_t steps) const {
    return static_cast<double>(steps) * step_seconds +
           static_cast<double>(evaluations_in(steps)) * evaluation_seconds().value_or(0);
  }
};

// What the command `info` is asked about.
struct InfoRequest {
  std::string target;                  // a configuration file or a run's folder; empty: the defaults
  ConfigOverrides overrides;           // options that change the target's configuration
  std::optional<std::string> minutes;  // plans a new training of so many minutes, as `train` does
  // About how many seconds steps are run and timed; 0: no step is run, and only what needs none is computed.
  double seconds = 4;
};
// Throws UsageError for a configuration that is not valid, and Error for a run or data that cannot be read.
Info gather_info(const InfoRequest& request);

// The facts as an object and as a text for people.
nlohmann::ordered_json info_json(const Info& info);
std::string info_text(const Info& info);

}  // namespace tapeformer::cli
