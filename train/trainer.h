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
  double loss = 0;       // mean over the step's scored targets
  double grad_norm = 0;  // before clipping
};

// One step at learning rate lr: gradients of all micro-steps gathered, clipped, applied. `step` counts from 1. Throws
// Error, leaving the weights as they were, when the loss or the gradient is not finite.
StepResult train_step(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
                      const ResolvedConfig& config, std::int64_t step, double lr);

// How far a run is.
struct ProgressState {
  std::int64_t step = 0, steps = 0;
  std::int64_t first_step = 0;  // steps that were done before this process began (resume)
  double loss = 0;              // nats per token
  double lr = 0;
  double tokens_per_s = 0;
  double elapsed_s = 0;  // of this process
};

struct TrainHooks {
  std::function<void(const ProgressState&)> progress = {};  // after every step
  std::function<void(std::int64_t step, const Evaluation&, std::optional<double> bleu)> evaluated = {};
  std::function<void(std::span<const std::int64_t> steps)> averaged = {};  // these checkpoints, at the end
  std::function<bool()> stop_requested = {};                               // asked after every step
};

enum class TrainEnd { finished, early_stopped, stopped, out_of_time };

// Trains from state.step to config.train.steps: metrics, evaluations and checkpoints go to the run's folder. Ends
// earlier, or at once, when the loss of eval.patience evaluations was not below the best. A run that has ended has its
// average, where checkpoint.average asks for one. Stops, with a checkpoint to go on from, when asked to or after
// train.max_minutes. `state` follows the run.
TrainEnd train(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
               const RunFolder& run, TrainingState& state, const TrainHooks& hooks);

}  // namespace tapeformer
