// What training takes, found out by doing a little of it: some steps of the real model, without a run's folder.
#pragma once

#include <functional>
#include <optional>

#include "train/loop/objective.h"
#include "train/loop/objective_data.h"

namespace tapeformer {

// Gives the data of a configuration.
using DataReader = std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&)>;

struct DryRunOptions {
  double seconds = 4;                 // for which steps are timed, about; an evaluation is timed for a quarter of it
  double expected_micro_seconds = 0;  // what a micro-step takes, roughly: a longer one than `seconds` is not tried
  ProgressCallback progress = {};
};

struct DryRun {
  double step_seconds = 0;
  std::optional<double> evaluation_seconds;  // of one evaluation of the run; nothing without validation data
  std::int64_t activation_bytes = 0;         // the most that tensors have beside what the optimizer works on
  std::int64_t peak_bytes = 0;               // the most that the process has resident (peak_resident_bytes())
  // Where a whole micro-step takes too much time or memory: smaller ones were measured, and what a row takes is known
  // from them.
  bool scaled = false;
  std::int64_t row_bytes = 0;
};

// The rows of a micro-step: train.batch, or the tokens of train.batch_tokens.
std::int64_t micro_step_rows(const ResolvedConfig& config);
// The configuration with so many rows in a micro-step. Throws UsageError as resolve() does.
ResolvedConfig with_rows(const ResolvedConfig& config, std::int64_t rows);

// Throws OutOfMemory or std::bad_alloc when even the smallest micro-step needs more memory than there is.
DryRun dry_run(const ResolvedConfig& config, const DataReader& read, const DryRunOptions& options = {});

}  // namespace tapeformer
