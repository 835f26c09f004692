// Runs by a clock that a test moves.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

#include "core/files.h"
#include "tests/train/loop/scripted_run.h"
#include "train/run/checkpoint_store.h"
#include "train/time/time_budget.h"

namespace tapeformer {

// About 1100 steps of 0.05 s in a minute.
inline Config timed_config() {
  Config config = short_config();
  config.schedule.kind = ScheduleKind::wsd;
  config.schedule.min_lr = 1e-4;
  config.schedule.warmup = 20;
  config.schedule.cooldown = 0.2;
  config.train.minutes = 1;
  config.train.steps = 100000;
  config.train.log_every = 100;
  config.eval.every = 150;
  config.checkpoint.every = 100;
  return config;
}

// A scripted run whose steps and evaluations take the time that the test says.
struct TimedRun : ScriptedRun {
  explicit TimedRun(const Config& with = timed_config()) : ScriptedRun(with) {}

  double now = 1000;  // the clock does not begin at 0
  std::function<double(double elapsed)> step_s = [](double) { return 0.05; };
  double evaluation_s = 0.5;
  std::map<std::int64_t, double> rates;
  std::vector<CooldownNotice> notices;
  std::int64_t moves = 0;  // how often a last step that had been chosen was moved

  TrainEnd go(TrainHooks hooks = {}) {
    const double begin = now - state.elapsed_s;
    const ResolvedConfig resolved = resolve(config);
    std::int64_t end = last_step(resolved, state);
    objective.loss = [this](std::int64_t step) {
      now += evaluation_s;
      return 1.0 / static_cast<double>(step);
    };
    hooks.clock = [this] { return now; };
    hooks.progress = [&, begin, more = hooks.progress](const ProgressState& progress) {
      now += step_s(now - begin);
      rates[progress.step] = progress.lr;
      const std::int64_t before = std::exchange(end, last_step(resolved, state));
      if (before != end && before != config.train.steps) ++moves;
      if (more) more(progress);
    };
    hooks.cooldown = [this](const CooldownNotice& notice) { notices.push_back(notice); };
    return train(hooks);
  }
  // Goes on from a checkpoint of another run, as a process that knows only that.
  void take(const TimedRun& other, std::int64_t step) {
    std::filesystem::remove_all(run.root);
    std::filesystem::copy(other.run.root, run.root, std::filesystem::copy_options::recursive);
    state = load_checkpoint(run, step, objective.module, optimizer);
    remove_checkpoints_after(run, step);
  }
  std::string weights() const {
    const std::filesystem::path folder = run.checkpoint(state.step);
    return read_file(folder / "model.safetensors") + read_file(folder / "optimizer.safetensors");
  }
};

inline bool ends_in_time(const TimedRun& run, double minutes = 1) {
  INFO(run.state.elapsed_s);
  return std::abs(run.state.elapsed_s - 60 * minutes) <= 0.05 * 60 * minutes;
}

// Whether the rate never jumps: no two steps differ by more than a fall over `steps` would.
inline bool falls_without_jumps(const TimedRun& run, std::int64_t steps) {
  if (run.rates.empty()) return true;
  for (auto at = std::next(run.rates.begin()); at != run.rates.end(); ++at) {
    if (at->first <= 20) continue;  // warm-up
    const double fall = std::prev(at)->second - at->second;
    if (fall < -1e-12 || fall > 9e-4 / static_cast<double>(steps)) return false;
  }
  return true;
}

}  // namespace tapeformer
