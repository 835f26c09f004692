// The training loop.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "train/config/config.h"
#include "train/loop/objective.h"
#include "train/loop/train_step.h"
#include "train/loop/training_pace.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// How far a run is.
struct ProgressState {
  std::int64_t step = 0, steps = 0;
  std::int64_t first_step = 0;  // steps that were done before this process began (resume)
  double loss = 0;              // StepResult::loss
  double lr = 0;
  double tokens_per_s = 0;
  double elapsed_s = 0;                // of this process
  bool smoothed = false;               // labels are smoothed
  bool with_z = false;                 // the loss contains the z-loss
  std::optional<double> waiting = {};  // the share of the time in which this rank waits for others, where there are any
};

struct TrainHooks {
  std::function<void(const ProgressState&)> progress = {};  // called after every step
  std::function<ProgressCallback()> evaluating = {};        // called for every evaluation, to show how far it is
  std::function<void(std::int64_t step, const Evaluation&, std::optional<double> bleu)> evaluated = {};
  // Called at the end, with the steps of the averaged checkpoints.
  std::function<void(std::span<const std::int64_t> steps)> averaged = {};
  // Called then with the average's evaluation.
  std::function<void(const Evaluation&, std::optional<double> bleu)> average_evaluated = {};
  // Asked after every step, and between micro-steps (of several ranks about once a second).
  std::function<bool()> stop_requested = {};
  std::optional<double> max_minutes = {};  // the time limit of this process; without one, train.max_minutes
  TrainingPace* pace = nullptr;            // is told what the training does
};

// Whether so many evaluations in a row were not better than the best one that the run ends early.
bool patience_is_out(const ResolvedConfig& config, std::int64_t step, std::int64_t best_step);

enum class TrainEnd { finished, early_stopped, stopped, out_of_time };

// Trains from state.step to config.train.steps, and writes metrics, evaluations and checkpoints to the run's folder.
// Ends earlier, or at once, when the cost() of eval.patience evaluations was not below the best. At its end it writes
// the average that checkpoint.average asks for, with its evaluation. Stops with a checkpoint when hooks.stop_requested
// says so, and after the time limit. A stop gives up the step that is under way, and saves what the last whole step has
// left; with train.sync_every it waits for the end of the round. `state` is updated with every step.
//
// The last step is evaluated, and its metrics are written, also where the schedule does not ask for that. A run that
// goes on with more steps, as one that had them from the start, knows nothing of such an evaluation: neither its best
// nor patience counts it, and the lines of metrics that are marked by it are to be taken away (truncate_metrics).
//
// Throws Error when a loss, a gradient or a weight is not a finite number: weights are checked, and tried on a batch,
// before they are saved, so that the latest checkpoint is always a usable one. Throws Error as well when the run's
// folder has been removed or renamed.
//
// Every rank of the objective calls it. Rank 0 writes the folder, and each rank its share of the optimizer's state;
// stops and time limits hold for all. With train.sync_every everything but steps happens after whole rounds of them.
TrainEnd train(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
               const RunFolder& run, TrainingState& state, const TrainHooks& hooks);

}  // namespace tapeformer
