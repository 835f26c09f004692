// Measures what training needs by doing a little of it: some steps of the real model, without a run's folder.
#pragma once

#include <functional>
#include <optional>

#include "train/loop/objective.h"
#include "train/loop/objective_data.h"

namespace tapeformer {

// Reads the data of a configuration.
using DataReader = std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&)>;

struct DryRunOptions {
  // Steps are timed for about half of these seconds, and an evaluation for an eighth of them; if the result is
  // extrapolated, each for half of that.
  double seconds = 4;
  double expected_micro_seconds = 0;  // a rough estimate: a micro-step that takes longer than `seconds` is not tried
  ProgressCallback progress = {};
};

struct DryRun {
  double step_seconds = 0;
  std::optional<double> evaluation_seconds;  // of one evaluation of the run; nullopt without validation data
  std::int64_t activation_bytes = 0;  // the peak memory of tensors, without parameters, gradients and optimizer state
  std::int64_t peak_bytes = 0;        // the peak resident memory of the process (peak_resident_bytes())
  // Whether the numbers are extrapolated from smaller micro-steps, because a whole one takes too much time or memory.
  bool scaled = false;
  std::int64_t row_bytes = 0;   // if scaled: the resident memory that each further row of a micro-step needs
  std::int64_t least_rows = 1;  // the smallest micro-step that the data allows: with train.batch_tokens, a sentence
};

// Returns the size of a micro-step: train.batch rows, or train.batch_tokens tokens if that key is set.
std::int64_t micro_step_rows(const ResolvedConfig& config);
// Returns the configuration with micro-steps of this size. Throws UsageError as resolve() does.
ResolvedConfig with_rows(const ResolvedConfig& config, std::int64_t rows);

// Measures training with this configuration. Throws OutOfMemory or std::bad_alloc if even the smallest micro-step needs
// more memory than there is.
DryRun dry_run(const ResolvedConfig& config, const DataReader& read, const DryRunOptions& options = {});

}  // namespace tapeformer
