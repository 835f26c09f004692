// One step of training.
#pragma once

#include <functional>
#include <optional>

#include "nn/optim/optimizer.h"
#include "train/config/config.h"
#include "train/loop/objective.h"

namespace tapeformer {

class LayerWatch;

// What one step did.
struct StepResult {
  double loss = 0;  // what is minimised: mean over the step's scored targets, with label smoothing and the z-loss
  std::optional<double> nll_loss = {};  // the plain cross-entropy, where there is one of them
  double grad_norm = 0;                 // before clipping
  bool given_up = false;                // StepHooks::stop said so: nothing has changed
};

// What takes part in a step.
struct StepHooks {
  LayerWatch* watch = nullptr;  // is shown the gradients
  // Asked between two micro-steps, with the number of those that this rank has done: whether to give the step up. All
  // ranks ask equally often, and must answer alike.
  std::function<bool(std::int64_t done)> stop = {};
};

// One step at learning rate lr: the gradients of all micro-steps are added up, clipped and applied. `step` counts from
// 1. Throws Error, leaving the weights as they were, when the loss or the gradient is not finite. Each of the
// objective's ranks does its share of the micro-steps, and the optimizer must be one for these ranks (make_optimizer).
// With train.sync_every the result is that of this rank: its loss is the mean over its share. With
// train.trace_nan an error says where the number began.
StepResult train_step(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
                      const ResolvedConfig& config, std::int64_t step, double lr, const StepHooks& hooks = {});

}  // namespace tapeformer
