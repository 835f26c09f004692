#include "train/loop/train_step.h"

#include "train/config/matmul_config.h"
#include "train/loop/finite_values.h"
#include "train/loop/layer_watch.h"

namespace tapeformer {

StepResult train_step(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
                      const ResolvedConfig& config, std::int64_t step, double lr, const StepHooks& hooks) {
  const kernels::MatmulPrecisionScope precision(matmul_precision(config));
  StepResult result;
  objective.take_nll_loss();  // discards the loss of micro-steps outside a step
  const std::function<void()> restore_state = objective.hold_state();
  Communicator& ranks = objective.ranks();
  const MicroSteps all{0, hooks.micro_step_limit.value_or(config.train.accumulate)}, mine = ranks.share(all.size());
  // With train.sync_every, each rank takes the mean over its own micro-steps.
  const bool together = config.train.sync_every == 0;
  const MicroSteps counted = together ? all : mine;
  const MeanOver mean = objective.mean_over(step, counted);
  result.scored = objective.step_size(step, counted).targets > 0;
  const std::int64_t least_steps = all.size() / ranks.size();  // the smallest number of micro-steps of a rank
  slab.zero_grad();
  for (std::int64_t micro = mine.begin; micro < mine.end; ++micro) {
    // The last time to ask is before a rank's last micro-step, in which gradients begin to travel.
    const std::int64_t done = micro - mine.begin;
    if (hooks.stop && done > 0 && done < least_steps && hooks.stop(done)) {
      restore_state();
      return {.given_up = true};
    }
    TapeOptions options = training_tape(config, step, micro);
    if (micro + 1 == mine.end) options.gradient_observer = optimizer.gradient_observer();
    Tape tape(options);
    const Variable loss = objective.micro_loss(tape, step, micro, mean);
    if (!loss.defined()) continue;
    tape.backward(loss);
    result.loss += loss.value().item();
  }
  result.grad_norm = optimizer.gradient_norm();
  if (hooks.watch) hooks.watch->see_gradients();
  result.nll_loss = objective.take_nll_loss();
  if (together) {
    double losses[] = {result.loss, result.nll_loss.value_or(0)};
    ranks.sum(losses);
    result.loss = losses[0];
    if (result.nll_loss) result.nll_loss = losses[1];
  }
  require_finite("loss", result.loss, objective, config, step, restore_state);
  require_finite("gradient's norm", result.grad_norm, objective, config, step, restore_state);
  OptimizerStep update = optimizer.clipped(lr, step, result.grad_norm);
  update.seed = static_cast<std::uint64_t>(config.train.seed);
  optimizer.apply(update);
  return result;
}

}  // namespace tapeformer
