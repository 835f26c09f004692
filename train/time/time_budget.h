// A training that ends by the clock: train.minutes says how long it takes, and the rate of wsd falls in time for that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nn/optim/schedule.h"
#include "train/config/config.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// Returns the step with which the training ends, as far as it is known: the end of the cool-down that has begun by the
// clock, else train.steps. A cool-down is given up if train.minutes has changed to more than the run has taken. It is
// also given up if it was to end with the last of train.steps, there are now more of them, and time is left.
std::int64_t last_step(const ResolvedConfig& config, const TrainingState& state);

// Returns the options with which a new run does the same steps without a clock, for a run that has come to the end of
// its cool-down; empty if no options do, because the end was moved or the cool-down did not begin at the peak.
std::string options_without_clock(const ResolvedConfig& config, const TrainingState& state);

// What is said about a cool-down when it begins, or when its end moves.
struct CooldownNotice {
  enum class Why { time, asked, asked_again, pace };
  Why why;
  std::int64_t step, end;  // the present step, and the last one
  double seconds;          // from the present step to the end of the training
};

// Chooses the cool-down of a training. The clock counts the seconds of a new run from the beginning of its command to
// the command's end; in a process that goes on with a run, from the beginning of its first step, so neither the time to
// read the data again counts, nor the steps that a kill has lost.
//
// The cool-down begins when the time until the last step is its share of the whole, schedule.cooldown; the last
// evaluation and checkpoint come after that. Its last step is chosen by the measured pace: recent steps, and what each
// evaluation, checkpoint and sample took. While it goes on, the pace is looked at every hundredth of the whole time: if
// the forecast misses the end of the time by more than two hundredths, the last step is moved, and the rate falls on
// from its present value. A notice is sent when the last step is then more than a twentieth of all steps away from the
// last step that the previous notice gave. Warm-up is cut short if it would leave less than half of the cool-down's
// share. If train.steps comes first, the cool-down is the last share of those steps, or what warm-up leaves of them if
// that is less.
//
// On resume, what was chosen stays, unless train.minutes has changed:
// - to more than the run has taken: the rate goes back to its peak, and a new cool-down is chosen;
// - to less: the rate falls at once, over the cool-down's share of the time that the run has taken.
// If train.steps came first, more of them have the effect of more minutes.
//
// All choices are in TrainingState::clock, so that no rate depends on the clock of the process that computes it.
class TimeBudget {
 public:
  // `elapsed` returns the seconds that the clock counts; `evaluation_steps` is an estimate of how many steps take as
  // long as an evaluation, for use before the first; `after_s` are the seconds that are left for what follows the last
  // evaluation; `notify` is called for each notice.
  TimeBudget(const ResolvedConfig& config, TrainingState& state, std::function<double()> elapsed,
             double evaluation_steps, double after_s, std::function<void(const CooldownNotice&)> notify);

  // The learning rate of a step. Without train.minutes it is that of the configuration's schedule.
  double rate(std::int64_t step) const;
  // Lowers the rate of plateau after an evaluation that was not better than the best one. During warm-up it stays.
  void lower_plateau();
  std::int64_t last_step() const { return tapeformer::last_step(config_, state_); }

  // Says that the previous piece of work has ended and this one begins; `piece` is a name as TrainingPace::begin()
  // takes it.
  void begin(const std::string& piece);
  // Asks for the cool-down to begin now, over its share of the time that has passed. If the cool-down has begun
  // already, only a notice is sent. The time in that notice needs a measured step: until there is one, the call is
  // ignored, and must be repeated.
  void ask_for_cooldown();
  bool is_asked() const { return asked_; }

  // After each step (with train.sync_every, each round), rank 0 chooses the last step; 0: nothing changes. Every rank
  // then sets the last step that was chosen.
  std::int64_t choose_end();
  void set_end(std::int64_t end);

  // The time for display; nullopt without train.minutes.
  struct Time {
    double done_s, whole_s;
    bool end_is_known;  // whether last_step() has been chosen
  };
  std::optional<Time> time() const;

 private:
  enum Work { kStep, kEvaluation, kBleu, kCheckpoint, kSamples, kWorks };
  static Work work_of(const std::string& piece);

  bool is_set() const { return config_.train.minutes > 0; }
  bool has_begun() const { return state_.clock->cooldown.end > 0; }
  double whole_s() const { return has_begun() ? state_.clock->deadline_s : 60 * config_.train.minutes; }
  ScheduleSpec schedule() const;
  void take_changed_minutes();
  void end_piece();
  void note_pace();
  bool has_pace() const;
  // 0: not known yet.
  double step_s() const { return recent_steps_ > 0 ? recent_s_ / recent_steps_ : 0; }
  bool is_due(double now);
  double end_from(double now) const;
  double pieces_in_steps(Work work, std::int64_t count) const;
  double at_end_s() const;
  double seconds_to(std::int64_t end) const;
  std::int64_t end_within(double seconds) const;

  const ResolvedConfig& config_;
  TrainingState& state_;
  const std::function<double()> elapsed_;
  const double evaluation_steps_, after_s_;
  const std::function<void(const CooldownNotice&)> notify_;
  bool asked_ = false;
  bool is_late_ = false;  // a cool-down that has begun gets a new end, since train.minutes has become less
  double next_look_ = 0;
  std::int64_t noticed_end_ = 0;  // the last step that the last notice gave

  std::optional<Work> work_;  // the piece of work under way, and when it began
  double began_ = 0;
  // How long the last piece of each kind took, as a number of steps at the pace of that time, because a machine that
  // slows down slows steps and pieces alike; and the shorter of the last two, since a piece may have been interrupted.
  std::array<std::optional<double>, kWorks> last_costs_, costs_;
  // The seconds of the steps since the last call of note_pace(), and the step at that call.
  double steps_s_ = 0;
  std::int64_t noted_step_;
  // The seconds of all measured steps; and the seconds and the number of the recent steps, as sums whose weights fall
  // exponentially with time.
  double measured_s_ = 0, recent_s_ = 0, recent_steps_ = 0;
  std::int64_t notes_ = 0;
};

}  // namespace tapeformer
