#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "autograd/kernels/reduce.h"
#include "core/memory.h"
#include "train/config/matmul_config.h"
#include "train/config/optim_config.h"
#include "train/layer_watch.h"
#include "train/nan_trace.h"
#include "train/run/disk.h"
#include "train/run/metrics.h"

namespace tapeformer {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr const char* kAdvice = "a lower optimizer.lr or a longer schedule.warmup may help";

// What made a number of a step that is not finite, for a message about it: "; …; ".
std::string cause_of(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                     const std::function<void()>& go_back) {
  if (!config.train.trace_nan) return "; train.trace_nan = true names the op that made it; ";
  const std::string found = trace_nan(objective, config, step, go_back);
  return found.empty() ? "; " : str_cat("; ", found, "; ");
}

bool all_finite(const Tensor& values) {
  return dispatch_floating(values.dtype(), [&]<class T>(T) {
    const std::span<T> elements = values.span<T>();
    return std::isfinite(kernels::sum_of_squares(elements.data(), static_cast<std::int64_t>(elements.size())));
  });
}

// The state of one call of train().
class Trainer {
 public:
  Trainer(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
          const RunFolder& run, TrainingState& state, const TrainHooks& hooks)
      : objective_(objective),
        slab_(slab),
        optimizer_(optimizer),
        config_(config),
        schedule_(schedule_spec(config)),
        config_toml_(to_toml(config)),
        max_minutes_(hooks.max_minutes.value_or(config.train.max_minutes)),
        run_(run),
        folder_(run.root),
        state_(state),
        hooks_(hooks),
        ranks_(objective.ranks()),
        first_step_(state.step),
        elapsed_before_(state.elapsed_s),
        saved_step_(state.step) {
    if (ranks_.is_root()) metrics_.emplace(run.metrics());
    objective_.carry(state_.carried);
  }

  TrainEnd run() {
    const kernels::MatmulPrecisionScope precision(matmul_precision(config_));
    try {
      return run_to_end();
    } catch (const Error&) {
      require_folder();  // says why a file of the run could not be written
      throw;
    }
  }

 private:
  TrainEnd run_to_end() {
    TrainEnd end = patience_is_out() ? TrainEnd::early_stopped : TrainEnd::finished;  // known already when resumed
    while (end == TrainEnd::finished && state_.step < config_.train.steps) {
      step();
      if (publishing_ended()) finish_publishing();  // throws the error of a failed publication soon
      if (!is_due(std::max<std::int64_t>(config_.train.sync_every, 1))) continue;
      const Wishes wishes = agree();
      if (is_due(config_.eval.every) || is_last()) {
        evaluate();
        if (patience_is_out()) end = TrainEnd::early_stopped;
      }
      if (ranks_.is_root() && is_due(config_.train.sample_every)) write_samples();
      if (is_due(config_.checkpoint.every) || is_last() || wishes.save) save();
      if (wishes.stop) end = TrainEnd::stopped;
      if (wishes.time_is_out) end = TrainEnd::out_of_time;
    }
    save();
    finish_publishing();
    if (is_last()) end = TrainEnd::finished;
    if (ranks_.is_root() && config_.checkpoint.average > 0 &&
        (end == TrainEnd::finished || end == TrainEnd::early_stopped)) {
      const std::vector<std::int64_t> steps = write_average(run_, config_.checkpoint.average);
      if (hooks_.averaged) hooks_.averaged(steps);
    }
    require_folder();
    return end;
  }

  // What any rank wishes happens on all.
  struct Wishes {
    bool save, stop, time_is_out;
  };
  Wishes agree() {
    double wishes[] = {minutes_due() ? 1.0 : 0.0, hooks_.stop_requested && hooks_.stop_requested() ? 1.0 : 0.0,
                       max_minutes_ > 0 && seconds_since(begin_) >= 60 * max_minutes_ ? 1.0 : 0.0};
    ranks_.sum(wishes);
    return {wishes[0] > 0, wishes[1] > 0, wishes[2] > 0};
  }

  bool is_due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  bool is_last() const { return state_.step >= config_.train.steps; }
  bool minutes_due() const {
    return config_.checkpoint.every_minutes > 0 && seconds_since(saved_) >= 60 * config_.checkpoint.every_minutes;
  }
  // Whether a run that nothing interrupts has a checkpoint of this step, whatever else is saved: averages are made of
  // these. The end of a run is one too (write_average() adds it), but no longer when the run is given more steps.
  bool is_regular() const { return config_.checkpoint.every > 0 ? is_due(config_.checkpoint.every) : is_last(); }

  // A folder that was removed, renamed or replaced must not be made again: the run would go on in another place than
  // its configuration and earlier checkpoints.
  void require_folder() const {
    check(folder_.in_place(), run_.root.string(), ": the run's folder has been removed or renamed during the training");
  }

  bool patience_is_out() const {
    return config_.eval.patience > 0 && config_.eval.every > 0 && state_.best_step > 0 &&
           state_.step - state_.best_step >= config_.eval.patience * config_.eval.every;
  }
  // BLEU is computed with the first evaluation from each multiple of eval.bleu_every on.
  bool bleu_is_due() const {
    const std::int64_t every = config_.eval.bleu_every, before = state_.step - config_.eval.every;
    return every > 0 && (is_last() || state_.step / every > before / every);
  }

  void step() {
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t number = state_.step + 1;
    const double lr = learning_rate(schedule_, number, state_.stalls);
    std::optional<LayerWatch> watch;
    if (config_.train.watch > 0 && number % config_.train.watch == 0) watch.emplace(objective_.model(), slab_);
    const StepResult result = train_step(objective_, slab_, optimizer_, config_, number, lr);
    const std::int64_t tokens = objective_.step_tokens(number);
    state_.step = number;
    state_.tokens += tokens;
    state_.elapsed_s = elapsed_before_ + seconds_since(begin_);
    // A running mean of the rate, only for display.
    const double rate = static_cast<double>(tokens) / seconds_since(begin);
    tokens_per_s_ = tokens_per_s_ == 0 ? rate : 0.95 * tokens_per_s_ + 0.05 * rate;
    std::optional<double> waiting;
    if (ranks_.size() > 1) waiting = (ranks_.waited_s() - waited_before_) / seconds_since(begin_);
    if (number == 1 || is_due(config_.train.log_every) || is_last() || watch) {
      require_folder();
      nlohmann::ordered_json line = {{"step", number}, {"tokens", state_.tokens}, {"loss", result.loss}};
      if (result.unsmoothed_loss) line["unsmoothed_loss"] = *result.unsmoothed_loss;
      line.update({{"lr", lr},
                   {"grad_norm", result.grad_norm},
                   {"tokens_per_s", tokens_per_s_},
                   {"elapsed_s", state_.elapsed_s},
                   {"peak_memory_bytes", peak_resident_bytes()}});
      if (waiting) line["waiting"] = *waiting;
      if (watch) line["watch"] = watch->norms();
      write_metrics(line);
    }
    if (hooks_.progress) {
      hooks_.progress({.step = number,
                       .steps = config_.train.steps,
                       .first_step = first_step_,
                       .loss = result.loss,
                       .lr = lr,
                       .tokens_per_s = tokens_per_s_,
                       .elapsed_s = seconds_since(begin_),
                       .smoothed = config_.train.label_smoothing > 0,
                       .with_z = config_.train.z_loss > 0,
                       .waiting = waiting});
    }
  }

  void write_metrics(const nlohmann::ordered_json& line) {
    if (metrics_) metrics_->write(line);
  }

  void evaluate() {
    if (!objective_.can_evaluate()) return;
    require_finite_values();
    const Evaluation evaluation = objective_.evaluate(hooks_.evaluating ? hooks_.evaluating() : ProgressCallback());
    require_finite("validation loss", evaluation.loss());
    evaluated_step_ = state_.step;
    nlohmann::ordered_json line = {{"step", state_.step}, {"tokens", state_.tokens}, {"eval_loss", evaluation.loss()}};
    if (objective_.has_perplexity()) line["eval_perplexity"] = evaluation.perplexity();
    line["eval_tokens"] = evaluation.tokens;
    for (const Evaluation::Part& part : evaluation.parts) {
      line[str_cat("eval_", part.name, "_loss")] = evaluation.part(part).loss();
    }
    for (const auto& [name, value] : evaluation.measures) line["eval_" + name] = value;
    if (config_.eval.batches == 0 && objective_.has_bits_per_byte())
      line["eval_bits_per_byte"] = evaluation.bits_per_byte(objective_.evaluation_bytes());
    const std::optional<double> bleu = bleu_is_due() ? objective_.bleu() : std::nullopt;
    if (bleu) line["eval_bleu"] = *bleu;
    line["elapsed_s"] = state_.elapsed_s = elapsed_before_ + seconds_since(begin_);
    line["peak_memory_bytes"] = peak_resident_bytes();
    write_metrics(line);
    if (hooks_.evaluated) hooks_.evaluated(state_.step, evaluation, bleu);
    if (state_.best_step == 0 || evaluation.cost() < state_.best_loss) {
      state_.best_loss = evaluation.cost();
      state_.best_step = state_.step;
      save();
    } else if (schedule_.kind == ScheduleKind::plateau) {
      ++state_.stalls;
    }
  }

  void write_samples() {
    nlohmann::ordered_json samples = nlohmann::ordered_json::array();
    for (const TextSample& sample : objective_.samples()) {
      samples.push_back({{"input", sample.input}, {"output", sample.output}});
      if (!sample.reference.empty()) samples.back()["reference"] = sample.reference;
    }
    write_metrics({{"step", state_.step}, {"samples", std::move(samples)}});
  }

  void require_finite_values() const {
    for (const ParameterSlab::Part& part : slab_.parts()) {
      check(all_finite(part.variable.value()), "step ", state_.step, ": the weights ", part.name,
            " are not finite numbers; ", kAdvice);
    }
    for (const auto& [name, values] : optimizer_.state()) {
      check(all_finite(values), "step ", state_.step, ": the optimizer's state ", name, " is not finite; ", kAdvice);
    }
  }

  // Throws Error for a number that the weights after a step have made. What made it is looked for in the step's batch.
  void require_finite(const char* what, double value) const {
    if (std::isfinite(value)) return;
    fail("step ", state_.step, ": the ", what, " is ", value,
         cause_of(objective_, config_, state_.step, objective_.hold_carried()), kAdvice);
  }

  // Finite weights may still be too large for a forward pass: unless an evaluation has just shown that they are not,
  // they are tried on a batch of this step.
  void require_usable_weights() {
    require_finite_values();
    if (evaluated_step_ == state_.step) return;
    Tape tape(no_grad);
    const auto targets = static_cast<double>(objective_.scored_targets(state_.step));
    Variable part;
    const Communicator::Share mine = ranks_.share(config_.train.accumulate);
    for (std::int64_t micro = mine.begin; micro < mine.end && !part.defined(); ++micro) {
      part = objective_.micro_loss(tape, state_.step, micro, targets);
    }
    if (!part.defined()) return;  // a step without targets
    const double loss = part.value().item();
    require_finite("loss after the update", loss);
  }

  // Training waits until the system has the bytes of the checkpoint, and for the publication of the checkpoint before
  // it, but not for the disk.
  void save() {
    if (saved_step_ == state_.step) return;
    require_usable_weights();
    finish_publishing();
    require_folder();
    saved_step_ = state_.step;
    saved_ = std::chrono::steady_clock::now();
    const CheckpointOptions options{.config_toml = config_toml_, .regular = is_regular()};
    state_.carried = objective_.carried();
    auto checkpoint = stage_checkpoint(run_, objective_.model(), optimizer_, state_, options, ranks_);
    if (!ranks_.is_root()) return;
    auto publish = [this, step = state_.step, is_best = state_.best_step == state_.step,
                    checkpoint = std::shared_ptr(std::move(checkpoint))] {
      metrics_->sync();
      require_folder();
      checkpoint->publish();
      if (is_best) mark_best(run_, step);
      prune_checkpoints(run_, config_.checkpoint.keep, config_.checkpoint.average);
    };
    publishing_ = std::async(std::launch::async | std::launch::deferred, std::move(publish));
  }

  // True as well for a deferred publication (the system had no thread for it): finish_publishing() runs it.
  bool publishing_ended() const {
    return publishing_.valid() && publishing_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
  }

  // Waits, and throws what the publication threw.
  void finish_publishing() {
    if (publishing_.valid()) publishing_.get();
  }

  Objective& objective_;
  const ParameterSlab& slab_;
  Optimizer& optimizer_;
  const ResolvedConfig& config_;
  const ScheduleSpec schedule_;
  const std::string config_toml_;
  const double max_minutes_;
  const RunFolder& run_;
  const HeldFolder folder_;
  TrainingState& state_;
  const TrainHooks& hooks_;
  Communicator& ranks_;
  std::optional<MetricsWriter> metrics_;  // of rank 0
  const std::int64_t first_step_;
  const double elapsed_before_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t saved_step_, evaluated_step_ = -1;
  std::chrono::steady_clock::time_point saved_ = begin_;
  double tokens_per_s_ = 0;
  const double waited_before_ = ranks_.waited_s();
  // The publication of the newest checkpoint, on its own thread. The last member, so that it is destroyed first, which
  // waits for it.
  std::future<void> publishing_;
};

}  // namespace

StepResult train_step(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
                      const ResolvedConfig& config, std::int64_t step, double lr) {
  const kernels::MatmulPrecisionScope precision(matmul_precision(config));
  StepResult result;
  objective.take_unsmoothed_loss();  // of micro-steps that were not part of a step
  const std::function<void()> go_back = objective.hold_carried();
  Communicator& ranks = objective.ranks();
  const Communicator::Share mine = ranks.share(config.train.accumulate);
  const bool together = config.train.sync_every == 0;
  // A rank that steps by itself has a mean of its own, over its share of the targets.
  const double part = together ? 1 : static_cast<double>(mine.size()) / static_cast<double>(config.train.accumulate);
  const double normalizer = part * static_cast<double>(objective.scored_targets(step));
  slab.zero_grad();
  for (std::int64_t micro = mine.begin; micro < mine.end; ++micro) {
    TapeOptions options = training_tape(config, step, micro);
    if (micro + 1 == mine.end) options.gradient_observer = optimizer.gradient_observer();
    Tape tape(options);
    const Variable loss = objective.micro_loss(tape, step, micro, normalizer);
    if (!loss.defined()) continue;
    tape.backward(loss);
    result.loss += loss.value().item();
  }
  result.grad_norm = optimizer.gradient_norm();
  result.unsmoothed_loss = objective.take_unsmoothed_loss();
  if (together) {
    double losses[] = {result.loss, result.unsmoothed_loss.value_or(0)};
    ranks.sum(losses);
    result.loss = losses[0];
    if (result.unsmoothed_loss) result.unsmoothed_loss = losses[1];
  }
  const auto require_finite = [&](double value, const char* what) {
    if (std::isfinite(value)) return;
    fail("step ", step, ": the ", what, " is ", value, cause_of(objective, config, step, go_back), kAdvice);
  };
  require_finite(result.loss, "loss");
  require_finite(result.grad_norm, "gradient's norm");
  optimizer.apply(optimizer.clipped(lr, step, result.grad_norm));
  return result;
}

TrainEnd train(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
               const RunFolder& run, TrainingState& state, const TrainHooks& hooks) {
  return Trainer(objective, slab, optimizer, config, run, state, hooks).run();
}

}  // namespace tapeformer
