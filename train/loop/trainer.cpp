#include "train/loop/trainer.h"

#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "core/memory.h"
#include "train/config/matmul_config.h"
#include "train/distributed/step_requests.h"
#include "train/loop/finite_values.h"
#include "train/loop/layer_watch.h"
#include "train/loop/metrics_lines.h"
#include "train/run/disk.h"
#include "train/run/metrics.h"

namespace tapeformer {
namespace {

// The state of one call of train().
class Trainer {
 public:
  Trainer(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
          const RunFolder& run, TrainingState& state, const TrainHooks& hooks)
      : objective_(objective),
        slab_(slab),
        optimizer_(optimizer),
        config_(config),
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
    if (matmul_precision(config) == kernels::MatmulPrecision::medium) round_frozen_weights(objective.model());
    if (ranks_.is_root()) metrics_.emplace(run.metrics());
    if (state_.scheduled_best && !is_last()) restore_scheduled_best();
    objective_.load_recurrent_state(state_.recurrent_state);
  }

  TrainEnd run() {
    const kernels::MatmulPrecisionScope precision(inference_precision(matmul_precision(config_)));
    try {
      return run_to_end();
    } catch (const Error&) {
      require_folder();  // if the folder is gone, this error explains it better
      throw;
    }
  }

 private:
  TrainEnd run_to_end() {
    // A resumed run may have run out of patience already, or have been stopped at what is its last step now.
    TrainEnd end = patience_is_out() ? TrainEnd::early_stopped : TrainEnd::finished;
    if (is_last() && !state_.evaluated && objective_.can_evaluate()) evaluate(), saved_step_ = -1;
    while (end == TrainEnd::finished && state_.step < budget_.last_step()) {
      if (!step()) {
        end = TrainEnd::stopped;
        break;
      }
      if (publishing_ended()) finish_publishing();  // reports the error of a failed publication soon
      if (!is_due(std::max<std::int64_t>(config_.train.sync_every, 1))) continue;
      const StepRequests requests = exchange_requests();
      budget_.set_end(requests.end);
      bool is_best = false;
      if (is_due(config_.eval.every) || is_last()) {
        is_best = evaluate();
        if (patience_is_out()) end = TrainEnd::early_stopped;
      }
      if (ranks_.is_root() && is_due(config_.train.sample_every)) write_samples();
      // The checkpoint comes after everything else that a step writes: a run that is killed resumes after the
      // checkpoint.
      if (is_best || is_due(config_.checkpoint.every) || is_last() || requests.save) save();
      if (requests.stop) end = TrainEnd::stopped;
      if (requests.time_is_out) end = TrainEnd::out_of_time;
    }
    save();
    finish_publishing();
    if (is_last()) end = TrainEnd::finished;
    if ((config_.checkpoint.average > 0 || config_.train.ema > 0) &&
        (end == TrainEnd::finished || end == TrainEnd::early_stopped))
      average();
    require_folder();
    state_.elapsed_s = elapsed();
    return end;
  }

  StepRequests exchange_requests() {
    if (hooks_.cooldown_requested && hooks_.cooldown_requested()) budget_.ask_for_cooldown();
    const bool time_is_out = max_minutes_ > 0 && elapsed_here() >= 60 * max_minutes_;
    const std::int64_t end = ranks_.is_root() ? budget_.choose_end() : 0;
    const StepRequests requests = request_exchange_.after_step(
        {.save = minutes_due(), .time_is_out = time_is_out, .cool_down = budget_.is_asked(), .end = end}, step_s_);
    if (requests.cool_down) budget_.ask_for_cooldown();  // rank 0 answers after the next step
    return requests;
  }

  // Called between two micro-steps; returns whether any rank was asked to stop.
  bool agree_to_stop(std::int64_t done) {
    if (!request_exchange_.asks_after(done)) return false;
    begin_piece("micro-step");
    return request_exchange_.stop_within_step();
  }
  void begin_piece(const std::string& piece) {
    budget_.begin(piece);
    if (hooks_.pace) hooks_.pace->begin(piece);
  }

  double elapsed_here() const { return hooks_.clock() - began_at_; }   // the seconds of this process
  double elapsed() const { return elapsed_before_ + elapsed_here(); }  // of the run
  bool is_due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  bool is_last() const { return state_.step >= budget_.last_step(); }
  bool minutes_due() const {
    return config_.checkpoint.every_minutes > 0 && hooks_.clock() - saved_at_ >= 60 * config_.checkpoint.every_minutes;
  }
  // Returns whether an uninterrupted run would have a checkpoint of this step. Averages use only such checkpoints, and
  // the last one (stage_average() adds it), which is not regular any more when the run continues with more steps.
  bool is_regular() const { return is_due(config_.checkpoint.every); }

  // Throws Error if the run's folder was removed, renamed or replaced: a new one would lack what the run has so far.
  void require_folder() const {
    check(folder_.in_place(), run_.root.string(), ": the run's folder has been removed or renamed during the training");
  }

  bool patience_is_out() const { return tapeformer::patience_is_out(config_, state_.step, state_.best_step); }
  // BLEU is computed in the first evaluation at or after each multiple of eval.bleu_every.
  bool bleu_is_scheduled() const {
    const std::int64_t every = config_.eval.bleu_every, before = state_.step - config_.eval.every;
    return every > 0 && state_.step / every > before / every;
  }
  bool bleu_is_due() const { return bleu_is_scheduled() || (config_.eval.bleu_every > 0 && is_last()); }

  // Called when a finished run continues with more steps: makes the last evaluation for which eval.every asked the best
  // one again, instead of the extra evaluation at the run's former end.
  void restore_scheduled_best() {
    const BestEvaluation best = *std::exchange(state_.scheduled_best, std::nullopt);
    state_.best_loss = best.loss;
    state_.best_step = best.step;
    const bool is_there = best.step > 0 && std::filesystem::exists(run_.checkpoint(best.step));
    if (!ranks_.is_root()) return;
    is_there ? mark_best(run_, best.step) : remove_path(run_.best());
  }

  // Returns false if the step was given up because a stop is requested.
  bool step() {
    const bool in_rounds = config_.train.sync_every > 0;
    if (!in_rounds) begin_piece("micro-step");
    if (in_rounds && state_.step % config_.train.sync_every == 0) begin_piece("round of train.sync_every steps");
    const double begin = hooks_.clock();
    const std::int64_t number = state_.step + 1;
    const double lr = budget_.rate(number);
    std::optional<LayerWatch> watch;
    if (config_.train.watch > 0 && number % config_.train.watch == 0) watch.emplace(objective_.model(), slab_);
    const StepHooks step_hooks{.watch = watch ? &*watch : nullptr, .stop = in_rounds ? nullptr : stop_between_};
    const StepResult result = train_step(objective_, slab_, optimizer_, config_, number, lr, step_hooks);
    if (result.given_up) return false;
    const StepSize size = objective_.step_size(number, {0, config_.train.accumulate});
    state_.step = number, state_.evaluated = false;
    state_.tokens += size.tokens, state_.elapsed_s = elapsed();
    step_s_ = hooks_.clock() - begin;
    const double tokens_per_s = speed_.after_step(size.tokens, step_s_);
    std::optional<double> waiting;
    if (ranks_.size() > 1) waiting = (ranks_.waited_s() - waited_before_) / elapsed_here();
    const bool is_scheduled = number == 1 || is_due(config_.train.log_every) || watch;
    if (is_scheduled || is_last()) {
      require_folder();
      nlohmann::ordered_json line = step_line(state_, result, lr, tokens_per_s, size.task);
      if (waiting) line["waiting"] = *waiting;
      if (watch) line["watch"] = watch->norms();
      if (!is_scheduled) line[kAtEnd] = true;
      write_metrics(line);
    }
    if (hooks_.progress) {
      hooks_.progress({.step = number,
                       .steps = budget_.last_step(),
                       .first_step = first_step_,
                       .loss = result.loss,
                       .scored = result.scored,
                       .lr = lr,
                       .tokens_per_s = tokens_per_s,
                       .elapsed_s = elapsed_here(),
                       .smoothed = config_.train.label_smoothing > 0,
                       .weighted = config_.task.class_weights != ClassWeights::none,
                       .with_z = config_.train.z_loss > 0,
                       .waiting = waiting,
                       .time = budget_.time()});
    }
    return true;
  }

  void write_metrics(const nlohmann::ordered_json& line) {
    if (metrics_) metrics_->write(line);
  }

  // Returns whether this evaluation is the best so far.
  bool evaluate() {
    if (!objective_.can_evaluate()) return false;
    begin_piece("evaluation");
    const bool is_scheduled = is_due(config_.eval.every);
    require_finite_values(slab_, optimizer_, state_.step);
    const Evaluation evaluation = objective_.evaluate(hooks_.evaluating ? hooks_.evaluating() : ProgressCallback());
    require_finite("validation loss", evaluation.loss(), objective_, config_, state_.step);
    state_.evaluated = true;
    nlohmann::ordered_json line = {{"step", state_.step}, {"tokens", state_.tokens}};
    const std::optional<double> bleu = bleu_is_due() ? measure_bleu() : std::nullopt;
    add_metrics(line, "eval_", objective_, config_, evaluation, bleu);
    line["elapsed_s"] = state_.elapsed_s = elapsed();
    line["peak_memory_bytes"] = peak_resident_bytes();
    if (!is_scheduled) {
      line[kAtEnd] = true;
    } else if (bleu && !bleu_is_scheduled()) {
      line[kAtEnd] = "eval_bleu";
    }
    write_metrics(line);
    if (hooks_.evaluated) hooks_.evaluated(state_.step, evaluation, bleu);
    if (state_.best_step > 0 && evaluation.cost() >= state_.best_loss) {
      if (is_scheduled) budget_.lower_plateau();
      return false;
    }
    if (!is_scheduled) state_.scheduled_best = {state_.best_loss, state_.best_step};
    state_.best_loss = evaluation.cost();
    state_.best_step = state_.step;
    return true;
  }

  std::optional<double> measure_bleu() {
    begin_piece("BLEU");
    return objective_.bleu();
  }

  // Makes and evaluates the average. It may be worse than the best checkpoint, for example if the weights still changed
  // much, so find_checkpoint() chooses between them by this evaluation. Afterwards the model has the weights of the
  // last step again.
  void average() {
    StagedAverage average;
    if (ranks_.is_root()) {
      average = config_.train.ema > 0 ? stage_moving_average(run_) : stage_average(run_, config_.checkpoint.average);
      if (hooks_.averaged) hooks_.averaged(average.steps);
    }
    if (objective_.can_evaluate()) {
      ranks_.barrier();  // waits until rank 0 has written the files of the average
      load_weights(run_, run_.average_staging(), objective_.model());
      const Evaluation evaluation = objective_.evaluate(hooks_.evaluating ? hooks_.evaluating() : ProgressCallback());
      const std::optional<double> bleu = config_.eval.bleu_every > 0 ? measure_bleu() : std::nullopt;
      load_weights(run_, run_.checkpoint(state_.step), objective_.model());
      nlohmann::ordered_json line = {{"step", state_.step}, {"tokens", state_.tokens}, {"averaged", average.steps}};
      add_metrics(line, "average_", objective_, config_, evaluation, bleu);
      write_metrics(line);
      if (average.checkpoint && state_.best_step > 0 && std::isfinite(evaluation.cost()))
        average.checkpoint->add_fields({{"cost", evaluation.cost()}, {"best_loss", state_.best_loss}});
      if (hooks_.average_evaluated) hooks_.average_evaluated(evaluation, bleu);
    }
    if (!ranks_.is_root()) return;
    metrics_->sync();
    average.checkpoint->publish();
  }

  void write_samples() {
    begin_piece("samples");
    write_metrics({{"step", state_.step}, {"samples", samples_json(objective_.samples({}))}});
  }

  // Saves a checkpoint. Training waits until its files are in the system's file cache and the previous checkpoint is
  // published, but not until they are on disk.
  void save() {
    if (saved_step_ == state_.step) return;
    begin_piece("checkpoint");
    require_finite_values(slab_, optimizer_, state_.step);
    if (!state_.evaluated) require_usable_weights(objective_, config_, state_.step);
    finish_publishing();
    require_folder();
    saved_step_ = state_.step;
    saved_at_ = hooks_.clock();
    state_.elapsed_s = elapsed();
    const CheckpointOptions options{.config_toml = config_toml_, .regular = is_regular()};
    state_.recurrent_state = objective_.recurrent_state();
    if (metrics_) state_.metrics = metrics_->mark();
    auto checkpoint = stage_checkpoint(run_, objective_.model(), optimizer_, state_, options, ranks_);
    if (!ranks_.is_root()) return;
    const auto publish = [this, step = state_.step, is_best = state_.best_step == state_.step,
                          checkpoint = std::shared_ptr(std::move(checkpoint))] {
      metrics_->sync();
      require_folder();
      checkpoint->publish();
      if (is_best) mark_best(run_, step);
      prune_checkpoints(run_, config_.checkpoint.keep, config_.checkpoint.average);
    };
    // std::async() gets a copy: a moved function would be lost if the system had no thread, before it is deferred.
    publishing_ = std::async(std::launch::async | std::launch::deferred, publish);
  }

  // Whether the publication has ended, or was deferred for want of a thread: then finish_publishing() runs it.
  bool publishing_ended() const {
    return publishing_.valid() && publishing_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
  }

  // Waits for the publication, and throws its error.
  void finish_publishing() {
    if (publishing_.valid()) publishing_.get();
  }

  Objective& objective_;
  const ParameterSlab& slab_;
  Optimizer& optimizer_;
  const ResolvedConfig& config_;
  const std::string config_toml_;
  const double max_minutes_;
  const RunFolder& run_;
  const HeldFolder folder_;
  TrainingState& state_;
  const TrainHooks& hooks_;
  Communicator& ranks_;
  std::optional<MetricsWriter> metrics_;  // only on rank 0
  const std::int64_t first_step_;
  const double elapsed_before_;
  const double began_at_ = config_.train.minutes > 0 ? hooks_.began_at.value_or(hooks_.clock()) : hooks_.clock();
  std::int64_t saved_step_;
  double saved_at_ = hooks_.clock();
  RecentSpeed speed_;
  double step_s_ = 0;  // the seconds that the last step took
  TimeBudget budget_{config_,
                     state_,
                     [this] { return elapsed(); },
                     config_.train.minutes > 0 ? objective_.evaluation_in_steps() : 0,
                     hooks_.after_s,
                     hooks_.cooldown};
  RequestExchange request_exchange_{ranks_, config_.train.accumulate, hooks_.stop_requested};
  const std::function<bool(std::int64_t)> stop_between_ = [this](std::int64_t done) { return agree_to_stop(done); };
  const double waited_before_ = ranks_.waited_s();
  // The publication of the newest checkpoint, on its own thread. It is the last member, so that it is destroyed first:
  // its destructor waits for the thread.
  std::future<void> publishing_;
};

}  // namespace

bool patience_is_out(const ResolvedConfig& config, std::int64_t step, std::int64_t best_step) {
  return config.eval.patience > 0 && config.eval.every > 0 && best_step > 0 &&
         (step - best_step) / config.eval.every >= config.eval.patience;  // their product may be above 2^63
}

TrainEnd train(Objective& objective, const ParameterSlab& slab, Optimizer& optimizer, const ResolvedConfig& config,
               const RunFolder& run, TrainingState& state, const TrainHooks& hooks) {
  return Trainer(objective, slab, optimizer, config, run, state, hooks).run();
}

}  // namespace tapeformer
