// Runs a training for the command, alone or as one of the ranks of a job.
#pragma once

#include <memory>
#include <optional>

#include "train/distributed/communicator.h"
#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// The objective with its data and model, and what the progress line needs: the floating-point operations of training on
// one token, and the operations a second that the matrix products of all ranks together reach.
struct PreparedObjective {
  std::unique_ptr<Objective> objective;
  double flops_per_token, peak_flops;
};

// Thrown when the program was asked to stop (StopSignal) before the training began.
struct StoppedBeforeTraining {};

// Reads the data and makes the model, its parameters not initialized yet. `resumed`: the run whose tokenizers are used.
// If any rank is asked to stop meanwhile, all ranks throw StoppedBeforeTraining.
PreparedObjective prepare_objective(const ResolvedConfig& config, const RunFolder* resumed, Communicator& ranks);

// A training that is ready to begin or to go on.
struct Training {
  PreparedObjective prepared;
  std::unique_ptr<ParameterSlab> slab;
  std::unique_ptr<Optimizer> optimizer;
  TrainingState state;
};

// Makes the slab of the model and the optimizer. The state is that of a run before its first step.
Training make_training(const ResolvedConfig& config, PreparedObjective prepared, Communicator& ranks);

// Saves a checkpoint; all ranks call it.
void save_checkpoint(const Training& training, const RunFolder& run, const CheckpointOptions& options);

// The times that limit the training of a process.
struct ProcessTime {
  std::optional<double> max_minutes = {};  // the time limit of this process, if it has its own
  std::optional<double> began_at = {};     // TrainHooks::began_at
};

// Trains a run whose folder and state are ready, and prints the result at its end. If the training ends by the clock
// (train.minutes), a new run is compared with simple models before the first step, and the last step leaves time for
// the sample of the summary.
void train_run(const ResolvedConfig& config, Training& training, const RunFolder& run, const ProcessTime& time);

}  // namespace tapeformer::cli
