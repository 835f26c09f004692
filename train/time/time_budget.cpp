#include "train/time/time_budget.h"

#include <algorithm>
#include <cmath>

#include "train/config/key_text.h"
#include "train/distributed/make_optimizer.h"

namespace tapeformer {
namespace {

constexpr double kLookEvery = 0.01, kMayMiss = 0.02;  // shares of the whole time
constexpr double kPaceWindow = 0.02;                  // the share of the whole time that counts as recent
constexpr std::int64_t kStepsForPace = 10;
constexpr double kInterrupted = 10;    // steps that take so many times as long as the recent ones were interrupted
constexpr double kWorthNotice = 0.05;  // a notice is sent if the last step moves by more than this share of all steps
// The share of the cool-down that warm-up must leave.
constexpr double kLeftByWarmup = 0.5;

// Returns whether the cool-down that was chosen stays: train.minutes is not more than the run has taken, or unchanged,
// as is train.steps if the cool-down ends with the last of them.
bool holds(const ClockPlan& plan, const ResolvedConfig& config, const TrainingState& state) {
  const bool more_steps = plan.cooldown.end == plan.steps && config.train.steps > plan.steps;
  return plan.cooldown.end > 0 &&
         ((plan.minutes == config.train.minutes && !more_steps) || 60 * config.train.minutes <= state.elapsed_s);
}

}  // namespace

std::int64_t last_step(const ResolvedConfig& config, const TrainingState& state) {
  if (config.train.minutes == 0 || !state.clock || !holds(*state.clock, config, state)) return config.train.steps;
  return std::min(config.train.steps, state.clock->cooldown.end);
}

std::string options_without_clock(const ResolvedConfig& config, const TrainingState& state) {
  if (config.train.minutes == 0 || !state.clock || state.clock->moved) return "";
  const Cooldown& cooldown = state.clock->cooldown;
  if (cooldown.end == 0 || state.step != cooldown.end) return "";
  const double share = static_cast<double>(cooldown.end - cooldown.begin) / static_cast<double>(cooldown.end);
  std::string options = str_cat("--train.minutes 0 --train.steps ", cooldown.end, " --schedule.total ", cooldown.end,
                                " --schedule.cooldown ", command_line_text(share));
  if (config.train.ema > 0) options += " --train.ema " + command_line_text(config.train.ema);
  return options;
}

TimeBudget::TimeBudget(const ResolvedConfig& config, TrainingState& state, std::function<double()> elapsed,
                       double evaluation_steps, double after_s, std::function<void(const CooldownNotice&)> notify)
    : config_(config),
      state_(state),
      elapsed_(std::move(elapsed)),
      evaluation_steps_(evaluation_steps),
      after_s_(after_s),
      notify_(std::move(notify)),
      noted_step_(state.step) {
  if (is_set()) {
    take_changed_minutes();
  } else {
    state_.clock.reset();
  }
}

// Makes the plan of a run that has none, and changes it if train.minutes has changed, or the steps that ended it.
void TimeBudget::take_changed_minutes() {
  const double minutes = config_.train.minutes;
  // Steps that a run has done without a plan may have had any rates.
  if (!state_.clock) state_.clock = ClockPlan{.minutes = minutes, .moved = state_.step > 0};
  ClockPlan& plan = *state_.clock;
  if (state_.step >= last_step()) return;
  if (has_begun() && holds(plan, config_, state_)) {
    is_late_ = plan.minutes != minutes;
    return;
  }
  plan.moved = plan.moved || has_begun();
  plan.cooldown = {};
  plan.minutes = minutes;
}

ScheduleSpec TimeBudget::schedule() const {
  ScheduleSpec spec = schedule_spec(config_);
  if (is_set()) spec.chosen = state_.clock->cooldown;
  return spec;
}

double TimeBudget::rate(std::int64_t step) const { return learning_rate(schedule(), step, state_.num_bad_epochs); }

void TimeBudget::lower_plateau() {
  if (config_.schedule.kind == ScheduleKind::plateau && state_.step >= config_.schedule.warmup) ++state_.num_bad_epochs;
}

std::optional<TimeBudget::Time> TimeBudget::time() const {
  if (!is_set()) return std::nullopt;
  return Time{.done_s = elapsed_(), .whole_s = whole_s(), .end_is_known = has_begun()};
}

TimeBudget::Work TimeBudget::work_of(const std::string& piece) {
  if (piece == "evaluation") return kEvaluation;
  if (piece == "BLEU") return kBleu;
  if (piece == "checkpoint") return kCheckpoint;
  return piece == "samples" ? kSamples : kStep;
}

void TimeBudget::begin(const std::string& piece) {
  if (!is_set()) return;
  end_piece();
  work_ = work_of(piece);
}

void TimeBudget::end_piece() {
  const double now = elapsed_(), seconds = now - std::exchange(began_, now);
  if (!work_) return;
  if (*work_ == kStep) {
    steps_s_ += seconds;
  } else if (recent_steps_ > 0) {
    const double cost = seconds / step_s(), before = std::exchange(last_costs_[*work_], cost).value_or(cost);
    costs_[*work_] = std::min(cost, before);
  }
}

// Adds the steps since the last note to the pace, except the first ones of a process, which are slow. While a process
// is stopped (Ctrl-Z), the time goes on, but the pace stays.
void TimeBudget::note_pace() {
  end_piece();
  double seconds = std::exchange(steps_s_, 0);
  const std::int64_t steps = state_.step - std::exchange(noted_step_, state_.step);
  if (++notes_ == 2) measured_s_ = recent_s_ = recent_steps_ = 0;
  if (recent_steps_ > 0) seconds = std::min(seconds, kInterrupted * static_cast<double>(steps) * step_s());
  const double weight = std::exp(-seconds / (kPaceWindow * whole_s()));
  measured_s_ += seconds;
  recent_s_ = weight * recent_s_ + seconds;
  recent_steps_ = weight * recent_steps_ + static_cast<double>(steps);
}

bool TimeBudget::has_pace() const {
  return recent_s_ > 0 && notes_ > 1 && (notes_ > kStepsForPace || measured_s_ >= kLookEvery * whole_s());
}

void TimeBudget::ask_for_cooldown() {
  const bool notifies = has_begun() && notify_;
  if (!is_set() || asked_ || (notifies && recent_steps_ == 0)) return;
  asked_ = true;
  if (!notifies) return;
  const std::int64_t end = last_step();
  notify_({.why = CooldownNotice::Why::asked_again, .step = state_.step, .end = end, .seconds = seconds_to(end)});
}

// Returns the seconds at which the training ends if its cool-down begins now.
double TimeBudget::end_from(double now) const { return (1 + config_.schedule.cooldown) * now + at_end_s(); }

// Returns whether the cool-down must begin, and sets the plan's deadline. schedule.cooldown is a share of the time
// until the last step, without the evaluation and checkpoint that follow it.
bool TimeBudget::is_due(double now) {
  const double whole = whole_s(), share = config_.schedule.cooldown;
  const bool in_warmup = state_.step < config_.schedule.warmup;
  const bool at_once = asked_ || now >= whole;
  state_.clock->deadline_s = !at_once ? whole : now < whole ? std::min(whole, end_from(now)) : end_from(now);
  const double last_step_at = whole - at_end_s();
  return at_once || last_step_at - now <= share * last_step_at * (in_warmup ? kLeftByWarmup : 1) ||
         cools_down_after(schedule_spec(config_), state_.step);
}

std::int64_t TimeBudget::choose_end() {
  if (!is_set()) return 0;
  note_pace();
  double& deadline = state_.clock->deadline_s;
  if (!has_pace()) {
    // A cool-down that train.steps decides needs no pace. If the pace turns out to be too slow, its end is moved.
    if (has_begun() || state_.step >= last_step() || !cools_down_after(schedule_spec(config_), state_.step)) return 0;
    deadline = whole_s();
    return config_.train.steps;
  }
  const double now = elapsed_();
  if (std::exchange(is_late_, false)) {
    deadline = end_from(now);
    state_.clock->minutes = config_.train.minutes;
  }
  // At the last step it is too late to move it: a deadline that is missed or not reached changes nothing.
  if (state_.step >= last_step()) return 0;
  if (!has_begun()) return is_due(now) ? end_within(deadline - now) : 0;
  if (now < next_look_) return 0;
  next_look_ = now + kLookEvery * deadline;
  const double missed = now + seconds_to(last_step()) - deadline;
  if (std::abs(missed) <= kMayMiss * deadline) return 0;
  const std::int64_t end = end_within(deadline - now);
  return end == last_step() ? 0 : end;
}

void TimeBudget::set_end(std::int64_t end) {
  if (end == 0) return;
  ClockPlan& plan = *state_.clock;
  const bool moves = has_begun();
  plan.cooldown = cooldown_from(schedule(), state_.step, end);
  plan.steps = config_.train.steps;
  plan.moved = plan.moved || plan.cooldown.progress > 0;
  next_look_ = elapsed_() + kLookEvery * plan.deadline_s;
  const double moved = static_cast<double>(std::abs(end - noticed_end_));
  if (!notify_ || (moves && moved <= kWorthNotice * static_cast<double>(end))) return;
  noticed_end_ = end;
  const auto why = moves ? CooldownNotice::Why::pace : asked_ ? CooldownNotice::Why::asked : CooldownNotice::Why::time;
  notify_({.why = why, .step = state_.step, .end = end, .seconds = seconds_to(end)});
}

double TimeBudget::pieces_in_steps(Work work, std::int64_t count) const {
  return static_cast<double>(count) * costs_[work].value_or(work == kEvaluation ? evaluation_steps_ : 0);
}

// Returns the seconds from the last step to the end of the training: its evaluation and checkpoint, the evaluation and
// checkpoint of the average, and what the caller does afterwards.
double TimeBudget::at_end_s() const {
  const std::int64_t count = config_.train.ema > 0 || config_.checkpoint.average > 0 ? 2 : 1;
  return after_s_ + step_s() * (pieces_in_steps(kEvaluation, count) + pieces_in_steps(kCheckpoint, count) +
                                pieces_in_steps(kBleu, config_.eval.bleu_every > 0 ? count : 0));
}

// Returns the seconds from the present step, whose evaluation and checkpoint are still to be made, until the training
// has ended with step `end`.
double TimeBudget::seconds_to(std::int64_t end) const {
  const auto multiples = [&](std::int64_t every) {
    return every > 0 ? (end - 1) / every - (state_.step - 1) / every : 0;
  };
  // A cool-down's evaluations are nearly always the best so far, so each one is saved.
  const std::int64_t evaluations = multiples(config_.eval.every);
  const std::int64_t checkpoints = std::max(evaluations, multiples(config_.checkpoint.every));
  const double steps = static_cast<double>(end - state_.step) + pieces_in_steps(kEvaluation, evaluations) +
                       pieces_in_steps(kBleu, multiples(config_.eval.bleu_every)) +
                       pieces_in_steps(kCheckpoint, checkpoints) +
                       pieces_in_steps(kSamples, multiples(config_.train.sample_every));
  return steps * step_s() + at_end_s();
}

// Returns the largest last step with which the training ends within `seconds` seconds from now; if there is none, the
// next step.
std::int64_t TimeBudget::end_within(double seconds) const {
  const std::int64_t unit = std::max<std::int64_t>(config_.train.sync_every, 1);
  std::int64_t fits = 1, too_many = (config_.train.steps - state_.step) / unit + 1;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (seconds_to(state_.step + middle * unit) <= seconds ? fits : too_many) = middle;
  }
  return state_.step + fits * unit;
}

}  // namespace tapeformer
