// The training loop.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "train/config/config.h"
#include "train/objectives/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// What one step did.
struct StepResult {
  double loss = 0;  // what is minimised: mean over the step's scored targets, with label smoothing and the z-loss
  std::optional<double> unsmoothed_loss;  // the plain cross-entropy, where there is one of them
  double grad_norm = 0;                   // before clipping
};

// One step at learning rate lr: the gradients of all micro-steps are added up, clipped and applied. `step` counts from
// 1. Throws Error, leaving the weights as they were, when the loss or the gradient is not finite. Each of the
// objective's ranks does its share of the micro-steps, and the optimizer must be one for these ranks (make_optimizer).
// With train.sync_every the result is that of this rank: its loss is the mean over its share. With
// train.trace_nan an error says where the number began.
StepResult train_step(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
                      const ResolvedConfig& config, std::int64_t step, double lr);

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
  std::function<void(std::span<const std::int64_t> steps)> averaged = {};  // called at the end, with the averaged steps
  std::function<bool()> stop_requested = {};                               // asked after every step
  std::optional<double> max_minutes = {};  // the time limit of this process; without one, train.max_minutes
};

enum class TrainEnd { finished, early_stopped, stopped, out_of_time };

// Trains from state.step to config.train.steps, and writes metrics, evaluations and checkpoints to the run's folder.
// Ends earlier, or at once, when the cost() of eval.patience evaluations was not below the best. At its end it writes
// the average that checkpoint.average asks for. Stops with a checkpoint when hooks.stop_requested says so, and after
// the time limit. `state` is updated with every step.
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
