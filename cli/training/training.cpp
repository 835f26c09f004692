#include "cli/training/training.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <utility>

#include "cli/terminal/messages.h"
#include "cli/terminal/stop_notice.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/training_line.h"
#include "cli/training/comparison.h"
#include "cli/training/model_costs.h"
#include "cli/training/training_summary.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text/joined.h"
#include "core/text/numbers.h"
#include "core/text/shell_word.h"
#include "nn/optim/schedule.h"
#include "report/run_report.h"
#include "train/config/matmul_config.h"
#include "train/distributed/launch.h"
#include "train/distributed/make_optimizer.h"
#include "train/distributed/same_job.h"
#include "train/loop/evaluation_terms.h"
#include "train/loop/objective_data.h"
#include "train/loop/trainer.h"
#include "train/machine/machine.h"
#include "train/machine/machine_peak.h"

namespace tapeformer::cli {
namespace {

// Rewrites the run's report.html from time to time. It waits 20 times as long as writing took, so that this takes at
// most a twentieth of the time.
class ReportRefresh {
 public:
  explicit ReportRefresh(RunFolder run) : run_(std::move(run)) {}

  void refresh_if_due() {
    if (Clock::now() >= due_) refresh();
  }
  void refresh() {
    const auto begin = Clock::now();
    try {
      write_run_report({&run_, 1}, run_.report());
    } catch (const std::exception& error) {  // a report that cannot be written must not end a training
      log_warning("{}: not written: {}", run_.report().string(), error.what());
    }
    due_ = Clock::now() + 20 * (Clock::now() - begin);
  }

 private:
  using Clock = std::chrono::steady_clock;
  RunFolder run_;
  Clock::time_point due_{};
};

// Facts that must be the same on all ranks when they begin to train.
JobFacts data_and_weights(const Objective& objective, const TrainingState& state) {
  const RunTokenizers tokenizers = objective.facts().tokenizers;
  const std::string vocabulary = tokenizers.source + tokenizers.target + tokenizers.labels + tokenizers.chat;
  return {{"the hash of the training data", to_hex(objective.facts().data_hash)},
          {"the hash of the validation data", to_hex(objective.facts().valid_hash)},
          {"the hash of the tokenizer", to_hex(hash_bytes(vocabulary))},
          {"the step to go on from", std::to_string(state.step)},
          {"the hash of the weights", to_hex(hash_of_weights(objective.model()))}};
}

void log_ranks(const ResolvedConfig& config, const Communicator& ranks) {
  if (ranks.size() == 1) return;
  log_info("{} ranks share the {} micro-steps of a step", ranks.size(), config.train.accumulate);
  if (config.train.accumulate % ranks.size() == 0) return;
  log_warning("train.accumulate is {}, no multiple of the ranks: those with fewer micro-steps wait for the others",
              config.train.accumulate);
}

void throw_if_stopped() {
  if (StopSignal::requested()) throw StoppedBeforeTraining();
}

// Reads the data. If the program is asked to stop meanwhile, the next call of a progress callback ends the reading, and
// the result is null.
std::unique_ptr<ObjectiveData> prepare_unless_stopped(const ResolvedConfig& config, const RunFolder* resumed,
                                                      bool shows_progress) try {
  return config.task_row().prepare(config, resumed, [&](std::string what) -> ProgressCallback {
    throw_if_stopped();
    return [show = shows_progress ? show_progress(std::move(what)) : ProgressCallback()](double share) {
      throw_if_stopped();
      if (show) show(share);
    };
  });
} catch (...) {
  if (!StopSignal::requested()) throw;
  return nullptr;
}

// Throws Error if the machine has no room for what every step of the training needs, before the model takes it.
// Activations come on top.
void require_memory(const ModelCosts& costs, const Communicator& ranks) {
  const std::int64_t bytes = costs.weight_bytes() + costs.gradient_bytes() + costs.optimizer_bytes / ranks.size();
  const std::int64_t memory = machine_memory_bytes();
  const auto gib = [](std::int64_t count) { return static_cast<double>(count) / (1 << 30); };
  check(bytes < memory, "the training needs ", gib(bytes),
        " GiB of memory for weights, gradients and the optimizer's state, the machine has ", gib(memory));
}

// Logs what is trained, the threads and the precision, and warnings.
void log_beginning(const ResolvedConfig& config, const Objective& objective, const TrainingState& state) {
  for (const std::string& line : objective.facts().warnings) log_warning("{}", line);
  for (const std::string& line : trained_validation_files(config)) log_warning("{}", line);
  if (!objective.can_evaluate()) log_warning("{}: nothing will be evaluated", objective.validation().missing);
  for (const std::string& line : objective.facts().description) log_info("{}", line);
  const kernels::MatmulPrecision precision = matmul_precision(config);
  if (const std::string warning = matmul_warning(precision); !warning.empty()) log_warning("{}", warning);
  const bool of_environment = config.train.threads == 0 && threads_of_environment();
  log_info("{} threads{}; matrix products: {}", thread_count(), of_environment ? " (OMP_NUM_THREADS)" : "",
           describe_matmul(precision));
  log_ranks(config, objective.ranks());
  if (config.train.minutes == 0 && config.schedule.warmup > config.train.steps) {
    log_info("the learning rate rises over {} steps: in {} it does not reach its peak (schedule.warmup)",
             config.schedule.warmup, config.train.steps);
  }
  if (config.schedule.kind == ScheduleKind::plateau && state.step == 0) {
    // The first evaluation is the best so far, and what the last step's evaluation lowers is not used any more.
    const std::int64_t every = config.eval.every, evaluations = (config.train.steps - 1) / every;
    if (evaluations < 2 || evaluations * every < config.schedule.warmup) {
      log_info("in {} steps with evaluations every {} the learning rate cannot fall (schedule.kind = plateau)",
               config.train.steps, every);
    }
  }
  const std::int64_t end = std::max(config.schedule.total, config.schedule.warmup);
  const std::int64_t idle = config.train.steps - std::max(end, state.step);
  if (config.train.minutes == 0 && idle > 0 && learning_rate(schedule_spec(config), end + 1) == 0) {
    log_warning("the learning rate is 0 after step {}, so that the last {} of {} steps change nothing (schedule.total)",
                end, idle, config.train.steps);
  }
  if (state.step < last_step(config, state)) return;
  if (last_step(config, state) < config.train.steps) {
    log_info("nothing left to train: go on with --train.minutes M, where M is above {:.4g} and not {:g}",
             state.elapsed_s / 60, config.train.minutes);
  } else {
    log_info("nothing left to train: go on with --train.steps N, where N is above {}", state.step);
  }
}

// Logs an evaluation. `what` names what was evaluated: "step 500", "the average".
void log_evaluation(const std::string& what, const Evaluation& evaluation, std::optional<double> bleu,
                    const TaskRow& task) {
  std::string parts;
  for (const Evaluation::Part& part : evaluation.parts) {
    parts += fmt::format("{}{} {:.4f}", parts.empty() ? " (" : ", ", part.name, evaluation.part(part).loss());
  }
  std::string measures;
  for (const auto& [name, value] : evaluation.metrics) measures += fmt::format(", {} {:.4f}", name, value);
  const std::string perplexity =
      task.has_perplexity ? ", perplexity " + format_perplexity(evaluation.perplexity()) : "";
  log_info("{}: validation loss {:.4f}{}{}{}{}", what, evaluation.loss(), parts.empty() ? "" : parts + ")", perplexity,
           measures, bleu ? fmt::format(", greedy BLEU {:.2f}", *bleu) : "");
}

// Logs the steps whose weights were averaged, and warns if there are fewer checkpoints than were asked for.
void log_average(std::span<const std::int64_t> steps, const ResolvedConfig& config) {
  if (config.train.ema > 0) return log_info("took the moving average of the weights up to step {}", steps.back());
  log_info("averaged the checkpoints of the steps {}", joined(steps, ", "));
  if (std::ssize(steps) >= config.checkpoint.average) return;
  log_warning("checkpoint.average: {} checkpoints were asked for, and the run has {} (checkpoint.every is {})",
              config.checkpoint.average, steps.size(), config.checkpoint.every);
}

// Logs that the learning rate begins to fall, or that the end of the cool-down has moved.
void log_cooldown(const CooldownNotice& notice) {
  const std::string time = fmt::format("{} steps, about {:.0f} s", notice.end - notice.step, notice.seconds);
  switch (notice.why) {
    case CooldownNotice::Why::time:
      return log_info("the learning rate falls after step {}: {}", notice.step, time);
    case CooldownNotice::Why::asked:
      return log_info("cooling down after step {}: {}; another Ctrl-C saves and stops", notice.step, time);
    case CooldownNotice::Why::asked_again:
      return log_info("cooling down already: {}; another Ctrl-C saves and stops", time);
    case CooldownNotice::Why::pace:
      return log_info("the pace has changed: the last step is now {}, in about {:.0f} s", notice.end, notice.seconds);
  }
}

// Logs the steps and the time of a training that ended by the clock.
void log_time(const ResolvedConfig& config, const TrainingState& state) {
  if (config.train.minutes == 0) return;
  const std::string options = options_without_clock(config, state);
  log_info("{} steps in {:.2f} of {:g} min{}{}", state.step, state.elapsed_s / 60, config.train.minutes,
           options.empty() ? "" : "; the same without a clock: ", options);
}

// The results of what a training that ends by the clock does before its first step, so that the time of its end is
// known.
struct PreparedEnd {
  std::optional<Baselines> baselines = std::nullopt;
  double sample_seconds = 0;
};

// A process that goes on with a run (no `began_at`) leaves the baselines for the end: it may be one of many.
PreparedEnd prepare_end(const ResolvedConfig& config, Objective& objective, const TrainingState& state,
                        const ProcessTime& time) {
  if (config.train.minutes == 0 || is_quiet() || state.step >= last_step(config, state)) return {};
  const double seconds = 60 * config.train.minutes;
  PreparedEnd prepared;
  if (time.began_at) prepared.baselines = find_baselines(objective, seconds);
  prepared.sample_seconds = time_sample(config, objective, seconds);
  return prepared;
}

// Compares the model with simple models, unless prepare_end() has, and writes the result to the run.
void compare(Objective& objective, const TrainingState& state, const RunFolder& run, const PreparedEnd& prepared) {
  if (is_quiet() || state.best_step == 0) return;
  const auto baselines = prepared.baselines ? prepared.baselines : find_baselines(objective, state.elapsed_s);
  if (baselines) write_comparison(*baselines, objective, state, run);
}

// `trained`: whether this process has done a step or an evaluation.
void log_end(TrainEnd end, const ResolvedConfig& config, Objective& objective, const TrainingState& state,
             const RunFolder& run, const PreparedEnd& prepared, bool trained) {
  if (end == TrainEnd::early_stopped) {
    const std::string_view measure = config.metric_for_best_model();
    const std::string better =
        measure.empty() ? "lower validation loss" : str_cat(smaller_is_better(measure) ? "lower " : "larger ", measure);
    log_info("ended at step {}: no {} in {} evaluations", state.step, better, config.eval.patience);
  }
  if (end == TrainEnd::finished || end == TrainEnd::early_stopped) {
    log_time(config, state);
    // A run that was killed before its comparison is compared now.
    if (trained || !is_compared(state, run)) compare(objective, state, run, prepared);
    print_summary(config, objective, state, run, !is_quiet());
    return print_next_commands(config, run);
  }
  log_info("{} at step {}; go on with: tapeformer train --resume {}",
           end == TrainEnd::stopped ? "stopped" : "out of time", state.step, shell_word(run.root.string()));
}

}  // namespace

PreparedObjective prepare_objective(const ResolvedConfig& config, const RunFolder* resumed, Communicator& ranks) {
  std::unique_ptr<ObjectiveData> data;
  for (const bool root : {true, false}) {  // rank 0 first: the others find its results in the cache
    if (ranks.is_root() == root) data = prepare_unless_stopped(config, resumed, root);
    if (ranks.any(StopSignal::requested())) throw StoppedBeforeTraining();
  }
  const ModelCosts costs = model_costs(config, *data);
  require_memory(costs, ranks);
  // Measured before the model is made, so that the memory for a first measurement does not count as the training's.
  const double peak_flops =
      is_quiet() || !ranks.is_root() ? 0 : machine_peak_flops(matmul_precision(config), thread_count());
  PreparedObjective prepared{config.task_row().make(config, std::move(data)), costs.flops_per_token,
                             ranks.size() * peak_flops};
  require_evaluations(*prepared.objective, config);
  prepared.objective->share_with(ranks);
  return prepared;
}

Training make_training(const ResolvedConfig& config, PreparedObjective prepared, Communicator& ranks) {
  const Objective& objective = *prepared.objective;
  TrainingState state = first_state(objective, config);
  auto slab = std::make_unique<ParameterSlab>(objective.model(), objective.rates());
  auto optimizer = make_optimizer(config, *slab, ranks);
  return {std::move(prepared), std::move(slab), std::move(optimizer), std::move(state)};
}

void save_checkpoint(const Training& training, const RunFolder& run, const CheckpointOptions& options) {
  const Objective& objective = *training.prepared.objective;
  const auto checkpoint =
      stage_checkpoint(run, objective.model(), *training.optimizer, training.state, options, objective.ranks());
  if (checkpoint) checkpoint->publish();
}

void train_run(const ResolvedConfig& config, Training& training, const RunFolder& run, const ProcessTime& time) {
  const PreparedObjective& prepared = training.prepared;
  const ParameterSlab& slab = *training.slab;
  Optimizer& optimizer = *training.optimizer;
  TrainingState& state = training.state;
  Objective& objective = *prepared.objective;
  Communicator& ranks = objective.ranks();
  require_same([&] { return data_and_weights(objective, state); }, ranks);
  StopSignal::work_begins();
  if (config.train.minutes > 0) StopSignal::interrupt_cools_down();
  if (!ranks.is_root()) {
    train(objective, slab, optimizer, config, run, state,
          {.stop_requested = StopSignal::requested,
           .cooldown_requested = StopSignal::cooldown_requested,
           .max_minutes = time.max_minutes});
    return;
  }
  record_machine(run, state.step, config);
  log_beginning(config, objective, state);
  const PreparedEnd prepared_end = prepare_end(config, objective, state, time);

  TrainingLine progress(ProgressLine::standard_error(), prepared.flops_per_token, prepared.peak_flops);
  ReportRefresh report(run);
  bool has_evaluated = false;
  const auto evaluated = [&](std::int64_t step, const Evaluation& evaluation, std::optional<double> bleu) {
    has_evaluated = true;
    progress.evaluated(evaluation.loss());
    log_evaluation(str_cat("step ", step), evaluation, bleu, objective.task());
    report.refresh_if_due();
  };
  TrainingPace pace;
  const StopNotice notice(StopSignal::requested, pace, [](const std::string& line) { log_info("{}", line); });
  const TrainHooks hooks{.progress = [&](const ProgressState& now) { progress.step(now); },
                         .evaluating = [] { return show_progress("evaluating"); },
                         .evaluated = evaluated,
                         .averaged = [&](std::span<const std::int64_t> steps) { log_average(steps, config); },
                         .average_evaluated =
                             [&](const Evaluation& evaluation, std::optional<double> bleu) {
                               log_evaluation("the average", evaluation, bleu, objective.task());
                             },
                         .stop_requested = StopSignal::requested,
                         .cooldown_requested = StopSignal::cooldown_requested,
                         .cooldown = log_cooldown,
                         .began_at = time.began_at,
                         .after_s = prepared_end.sample_seconds,
                         .max_minutes = time.max_minutes,
                         .pace = &pace};
  const std::int64_t first_step = state.step;
  const TrainEnd end = train(objective, slab, optimizer, config, run, state, hooks);
  progress.end();
  if (progress.exceeds_peak()) machine_peak_flops_again(matmul_precision(config), thread_count());
  report.refresh();
  log_end(end, config, objective, state, run, prepared_end, state.step > first_step || has_evaluated);
}

}  // namespace tapeformer::cli
