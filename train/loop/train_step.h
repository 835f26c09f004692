// One step of training.
#pragma once

#include <functional>
#include <optional>

#include "nn/optim/optimizer.h"
#include "train/config/config.h"
#include "train/loop/objective.h"

namespace tapeformer {

class LayerWatch;

// The result of one step.
struct StepResult {
  double loss = 0;  // the minimised loss: the mean over the step's scored targets, with label smoothing and the z-loss
  std::optional<double> nll_loss = {};  // the plain cross-entropy, if the loss is another one (NllLoss)
  bool scored = false;                  // whether the step had a target; without one its losses say nothing
  double grad_norm = 0;                 // before clipping
  bool given_up = false;  // StepHooks::stop returned true: the weights and states are the ones from before the step
};

// Options of a step.
struct StepHooks {
  LayerWatch* watch = nullptr;  // sees the gradients
  // Called between two micro-steps with the number of micro-steps that this rank has done; returns whether to give up
  // the step. All ranks call it equally often, and it must return the same on all.
  std::function<bool(std::int64_t done)> stop = {};
  // The number of micro-steps that are done, the first ones of the step; nullopt: all (train.accumulate).
  std::optional<std::int64_t> micro_step_limit = {};
};

// Does one step at learning rate lr: the gradients of all micro-steps are accumulated, clipped and applied. `step`
// counts from 1. Throws Error, leaving the weights unchanged, when the loss or the gradient is not finite; with
// train.trace_nan the error names the op that computed the first such value. Each of the objective's ranks does its
// share of the micro-steps, and the optimizer must be made for these ranks (make_optimizer). With train.sync_every each
// rank steps by itself, and the loss of the result is the mean over this rank's micro-steps.
StepResult train_step(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
                      const ResolvedConfig& config, std::int64_t step, double lr, const StepHooks& hooks = {});

}  // namespace tapeformer
