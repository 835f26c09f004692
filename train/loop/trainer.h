// The training loop.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/steady_clock.h"
#include "train/config/config.h"
#include "train/loop/objective.h"
#include "train/loop/train_step.h"
#include "train/loop/training_pace.h"
#include "train/run/checkpoint.h"
#include "train/time/time_budget.h"

namespace tapeformer {

// The progress of a run, for display.
struct ProgressState {
  std::int64_t step = 0, steps = 0;  // steps: the last one, as far as it is known (last_step())
  std::int64_t first_step = 0;       // the number of steps that were done before this process began (resume)
  double loss = 0;                   // StepResult::loss
  bool scored = true;                // StepResult::scored
  double lr = 0;
  double tokens_per_s = 0;
  double elapsed_s = 0;   // of this process
  bool smoothed = false;  // there is label smoothing
  bool weighted = false;  // labels have weights (task.class_weights)
  bool with_z = false;    // the loss contains the z-loss
  // The share of the time in which this rank waits for others; nullopt for a single rank.
  std::optional<double> waiting = {};
  std::optional<TimeBudget::Time> time = {};  // with train.minutes
};

struct TrainHooks {
  std::function<void(const ProgressState&)> progress = {};  // called after every step
  std::function<ProgressCallback()> evaluating = {};  // called for every evaluation; the result shows its progress
  // Called after every evaluation except that of the average.
  std::function<void(std::int64_t step, const Evaluation&, std::optional<double> bleu)> evaluated = {};
  // Called at the end if there is an average, with the steps of the checkpoints that it is made from.
  std::function<void(std::span<const std::int64_t> steps)> averaged = {};
  // Called when the average has been evaluated.
  std::function<void(const Evaluation&, std::optional<double> bleu)> average_evaluated = {};
  // Called after every step, and between micro-steps (with several ranks about once a second); returns whether to stop.
  std::function<bool()> stop_requested = {};
  // Called after every step; returns whether a training with train.minutes is to cool down now.
  std::function<bool()> cooldown_requested = {};
  std::function<void(const CooldownNotice&)> cooldown = {};  // called when it cools down, or its end moves
  std::function<double()> clock = steady_seconds;            // the seconds since some moment
  // When the clock of train.minutes began, by `clock`; if not set, it begins with the training.
  std::optional<double> began_at = {};
  double after_s = 0;  // the part of train.minutes that is left for what the caller does after the training
  std::optional<double> max_minutes = {};  // the time limit of this process; if not set, train.max_minutes
  TrainingPace* pace = nullptr;            // receives the name of each piece of work that the training begins
};

// Returns whether eval.patience evaluations in a row were not better than the best one, so that the run ends early.
bool patience_is_out(const ResolvedConfig& config, std::int64_t step, std::int64_t best_step);

enum class TrainEnd { finished, early_stopped, stopped, out_of_time };

// Trains from state.step to last_step(config, state), and writes metrics, evaluations and checkpoints to the run's
// folder. `state` is updated with every step. The training ends early when the cost() of eval.patience evaluations in a
// row was not below the best; a resumed run may end at once for that reason. At its end, the training writes the
// average for which checkpoint.average or train.ema asks, and evaluates it. It stops with a checkpoint when
// hooks.stop_requested returns true, and after the time limit. A stop gives up the present step, and saves the state
// after the last whole step; with train.sync_every it waits for the end of the round. The last step is always evaluated
// and its metrics written, even if eval.every and train.log_every do not ask for that. Such an extra evaluation must
// not influence a run that is given more steps: it counts neither as the best nor for patience, and truncate_metrics()
// must remove the lines of metrics that are marked as extra (kAtEnd).
//
// Throws Error when a loss, a gradient or a weight is not finite: weights are checked, and tried on a batch, before
// they are saved, so that the latest checkpoint is always usable. Also throws Error when the run's folder has been
// removed or renamed.
//
// Every rank of the objective calls it. Rank 0 writes the folder, and each rank its share of the optimizer's state;
// stops and time limits apply to all ranks. With train.sync_every, everything except steps happens after whole rounds.
TrainEnd train(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
               const RunFolder& run, TrainingState& state, const TrainHooks& hooks);

}  // namespace tapeformer
