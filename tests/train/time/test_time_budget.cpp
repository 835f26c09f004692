// Trainings that end by the clock, with a clock that the tests move.
#include <sstream>

#include "tests/long_test.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/time/timed_run.h"
#include "tests/train/toy.h"

using namespace tapeformer;
using doctest::Approx;
using Why = CooldownNotice::Why;

TEST_CASE("time budget: at a constant pace the run ends in time, cooled down, and the end is not moved") {
  for (const double cooldown : {0.1, 0.2, 0.5, 1.0}) {
    CAPTURE(cooldown);
    Config config = timed_config();
    config.schedule.cooldown = cooldown;
    TimedRun run(config);
    if (cooldown == 1) run.evaluation_s = 0.02;  // it begins before an evaluation is measured: as estimated
    CHECK(run.go() == TrainEnd::finished);
    CHECK(std::abs(run.state.elapsed_s - 60) < 1);
    CHECK(run.rates.rbegin()->first == run.state.step);
    CHECK(run.rates.rbegin()->second == 1e-4);
    REQUIRE(run.notices.size() == 1);
    const CooldownNotice& notice = run.notices.front();
    CHECK((notice.why == Why::time));
    CHECK(notice.end == run.state.step);
    CHECK(std::abs(notice.seconds - (0.5 + std::min(cooldown, 0.98) * 59.5)) < 0.6);  // with the last evaluation
    CHECK(run.rates.at(notice.step) == Approx(1e-3));
    // The last step is evaluated, saved and written as without a clock.
    CHECK(run.evaluations("eval_loss").contains(run.state.step));
    CHECK(latest_step(run.run) == run.state.step);
    CHECK(read_metrics(run.run.metrics()).back()[kAtEnd] == true);
  }
}

TEST_CASE("time budget: the run ends in time when the pace changes, and the rate falls without jumps" * long_test()) {
  struct Change {
    double at, factor;
  };
  for (const Change change : {Change{30, 2}, {30, 0.5}, {50, 2}, {50, 0.5}, {54, 2}, {57, 2}, {57, 0.5}}) {
    CAPTURE(change.at);
    CAPTURE(change.factor);
    TimedRun run;
    run.step_s = [&](double elapsed) { return elapsed < change.at ? 0.05 : 0.05 * change.factor; };
    CHECK(run.go() == TrainEnd::finished);
    CHECK(ends_in_time(run));
    CHECK(run.rates.rbegin()->second == 1e-4);
    CHECK(falls_without_jumps(run, 10));
    const bool in_cooldown = change.at >= 48;
    if (change.at == 30) CHECK(run.notices.size() == 1);
    if (in_cooldown && change.at < 55) CHECK(run.moves > 0);
    for (std::size_t i = 1; i < run.notices.size(); ++i) CHECK((run.notices[i].why == Why::pace));
    CHECK(options_without_clock(resolve(run.config), run.state).empty() == (run.moves > 0));
  }
}

TEST_CASE("time budget: a pause, as after Ctrl-Z, takes its own time alone, before the cool-down and in it") {
  for (const double at : {20.0, 50.0}) {
    CAPTURE(at);
    TimedRun run;
    bool is_over = false;
    run.step_s = [&](double elapsed) { return elapsed < at || std::exchange(is_over, true) ? 0.05 : 5.0; };
    CHECK(run.go() == TrainEnd::finished);
    CHECK(ends_in_time(run));
    CHECK(run.state.step > 950);
    CHECK(run.rates.rbegin()->second == 1e-4);
    CHECK(falls_without_jumps(run, 10));
  }
}

TEST_CASE("time budget: a pause in an evaluation takes its own time alone") {
  for (const double at : {20.0, 44.0}) {
    CAPTURE(at);
    TimedRun run;
    run.step_s = [&](double elapsed) {
      run.evaluation_s = elapsed >= at && elapsed < at + 8 ? 10 : 0.5;  // one evaluation begins in these 8 seconds
      return 0.05;
    };
    CHECK(run.go() == TrainEnd::finished);
    CHECK(ends_in_time(run));
    CHECK(run.state.step > 920);
    CHECK(run.rates.rbegin()->second == 1e-4);
    CHECK(falls_without_jumps(run, 10));
  }
}

TEST_CASE("time budget: on a busy machine the end moves often, and few notices say so") {
  TimedRun run;
  run.step_s = [](double elapsed) { return static_cast<std::int64_t>(elapsed / 3) % 2 == 0 ? 0.04 : 0.08; };
  CHECK(run.go() == TrainEnd::finished);
  CHECK(ends_in_time(run));
  CHECK(run.moves > 4);
  CHECK(run.notices.size() <= 4);
}

TEST_CASE("time budget: long evaluations, samples and the average at the end are part of the time") {
  Config config = timed_config();
  config.checkpoint.average = 2;
  config.train.sample_every = 70;
  TimedRun run(config);
  run.evaluation_s = 2.5;
  run.objective.before_samples = [&] { run.now += 0.7; };
  CHECK(run.go() == TrainEnd::finished);
  CHECK(std::abs(run.state.elapsed_s - 60) < 2);
  CHECK(run.notices.size() == 1);
}

TEST_CASE("time budget: the last step is the last one, however late it is") {
  TimedRun run;
  run.step_s = [](double elapsed) { return elapsed < 50 ? 0.05 : 30.0; };
  run.evaluation_s = 1;
  std::int64_t after = 0;
  TrainHooks hooks;
  hooks.stop_requested = [&] { return run.state.elapsed_s > 70 && ++after > 20; };
  CHECK(run.go(hooks) == TrainEnd::finished);
  CHECK(run.rates.rbegin()->second == 1e-4);
}

TEST_CASE("time budget: what came before the training counts, and time is left for what follows it") {
  TimedRun run;
  CHECK(run.go({.began_at = run.now - 10, .after_s = 5}) == TrainEnd::finished);
  CHECK(std::abs(run.state.elapsed_s - 55) < 1);
  CHECK(run.state.step < 950);
  CHECK(run.rates.rbegin()->second == 1e-4);
  CHECK(run.notices.size() == 1);
  // Without train.minutes the time is that of the training.
  Config config = timed_config();
  config.train.minutes = 0;
  config.train.steps = 20;
  TimedRun plain(config);
  plain.go({.began_at = plain.now - 10, .after_s = 5});
  CHECK(plain.state.elapsed_s < 10);
}

TEST_CASE("time budget: a step that takes a large part of the time ends the run in time all the same") {
  TimedRun run;
  run.step_s = [](double) { return 2.0; };
  run.evaluation_s = 0;
  CHECK(run.go() == TrainEnd::finished);
  CHECK(ends_in_time(run));
}

TEST_CASE("time budget: where train.steps comes first, the steps are those of a run without a clock") {
  for (const std::int64_t steps : {10, 300}) {  // a few steps are over before a pace is known
    Config config = timed_config();
    config.train.steps = steps;
    config.schedule.warmup = 2;
    TimedRun timed(config);
    CHECK(timed.go() == TrainEnd::finished);
    config.train.minutes = 0;
    TimedRun plain(config);
    CHECK(plain.go() == TrainEnd::finished);
    CHECK(timed.rates == plain.rates);
    CHECK(timed.weights() == plain.weights());
  }
}

TEST_CASE("time budget: the options that it names repeat the run without a clock, to the bit") {
  for (const double step_s : {0.05, 0.0613, 0.0777}) {
    Config config = timed_config();
    config.schedule.cooldown_shape = CooldownShape::sqrt;
    TimedRun timed(config);
    timed.step_s = [&](double) { return step_s; };
    timed.go();
    const std::string options = options_without_clock(resolve(config), timed.state);
    REQUIRE(options.starts_with("--train.minutes 0 --train.steps "));
    std::istringstream words(options);
    for (std::string key, value; words >> key >> value;) apply_override(config, key.substr(2), value);
    TimedRun plain(config);
    plain.go();
    CHECK(plain.state.step == timed.state.step);
    CHECK(plain.rates == timed.rates);
    CHECK(plain.weights() == timed.weights());
  }
}

TEST_CASE("time budget: asked to, the run cools down at once, over the share of the time so far") {
  for (const double at : {0.3, 20.0, 55.0}) {
    CAPTURE(at);
    TimedRun run;
    bool asked = false;
    CHECK(run.go({.progress = [&](const ProgressState& state) { asked = state.step >= at / 0.05; },
                  .cooldown_requested = [&] { return asked; }}) == TrainEnd::finished);
    REQUIRE(run.notices.size() == (at > 48 ? 2 : 1));
    const CooldownNotice& notice = run.notices.back();
    CHECK((notice.why == (at > 48 ? Why::asked_again : Why::asked)));
    CHECK(notice.end == run.state.step);
    CHECK(run.rates.rbegin()->second == 1e-4);
    if (at > 1) CHECK(falls_without_jumps(run, 20));
    if (at > 48) CHECK(std::abs(run.state.elapsed_s - 60) < 1);
    if (at == 20) CHECK(run.state.elapsed_s == Approx(1.2 * (20 + 2 * 0.5)).epsilon(0.03));
    if (at > 1) continue;
    const double last = 1e-3 * static_cast<double>(notice.step) / 20;  // warm-up was cut short
    for (const auto& [step, rate] : run.rates) CHECK(rate <= last);
    CHECK(run.rates.at(notice.step) == Approx(last));
  }
}

TEST_CASE("time budget: with train.sync_every the run ends after a whole round") {
  Config config = timed_config();
  config.train.sync_every = 50;
  TimedRun run(config);
  CHECK(run.go() == TrainEnd::finished);
  CHECK(run.state.step % 50 == 0);
  CHECK(ends_in_time(run));
  CHECK(run.rates.rbegin()->second == 1e-4);
}

TEST_CASE("time budget: rank 0 decides, whatever the clocks of the others say") {
  const CacheFolder folder;
  Config config = toy_config();
  config.schedule.kind = ScheduleKind::wsd;
  config.schedule.warmup = 4;
  config.schedule.cooldown = 0.2;
  config.train.accumulate = 2;
  config.train.minutes = 1;
  config.train.steps = 1000;
  config.eval.every = 20;
  const auto train_by = [&](int size, std::int64_t asked_at) {
    const RunFolder run = create_run(folder.path / str_cat("run", size, "-", asked_at), to_toml(resolve(config)),
                                     Toy(config).objective.facts().tokenizers);
    std::vector<std::vector<float>> weights(size);
    std::int64_t end = 0;
    run_ranks(size, [&](Communicator& ranks) {
      Toy toy(config);
      toy.objective.share_with(ranks);
      const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
      TrainingState state;
      double now = 0;
      const TrainHooks hooks{.progress = [&](const ProgressState&) { now += ranks.is_root() ? 1 : 0.1; },
                             // Only the last rank is asked.
                             .cooldown_requested = [&] { return ranks.rank() == size - 1 && state.step == asked_at; },
                             .clock = [&] { return now; }};
      train(toy.objective, toy.slab, *optimizer, toy.resolved, run, state, hooks);
      weights[ranks.rank()] = toy.weights();
      if (ranks.is_root()) end = state.step;
    });
    for (const auto& of_rank : weights) CHECK(of_rank == weights[0]);
    return end;
  };
  const std::int64_t alone = train_by(1, 0);
  CHECK(alone >= 57);
  CHECK(alone <= 61);
  CHECK(train_by(2, 0) == alone);
  const std::int64_t asked = train_by(2, 30);
  CHECK(asked >= 34);
  CHECK(asked <= 38);
}
