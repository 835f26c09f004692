// Trainings by the clock that are killed, stopped and resumed.
#include "tests/train/time/timed_run.h"

using namespace tapeformer;
using doctest::Approx;

TEST_CASE("time budget: killed in its cool-down, a run goes on to the same bytes") {
  TimedRun straight;
  straight.go();
  const std::int64_t begin = straight.notices.front().step, killed_at = begin + 137;
  TimedRun killed;
  struct Kill {};
  CHECK_THROWS_AS(killed.go({.progress =
                                 [&](const ProgressState& progress) {
                                   if (progress.step == killed_at) throw Kill();
                                 }}),
                  Kill);
  const std::int64_t saved = *latest_step(killed.run);
  REQUIRE(saved > begin);
  REQUIRE(saved < killed_at);
  TimedRun resumed;
  resumed.take(killed, saved);
  CHECK(resumed.go() == TrainEnd::finished);
  CHECK(resumed.notices.empty());
  CHECK(resumed.state.step == straight.state.step);
  CHECK(resumed.weights() == straight.weights());
  // Who asks for the cool-down at once gets the answer when a step was measured.
  TimedRun asked;
  asked.take(killed, saved);
  asked.go(
      {.stop_requested = [&] { return asked.state.step == saved + 5; }, .cooldown_requested = [] { return true; }});
  REQUIRE(asked.notices.size() == 1);
  CHECK((asked.notices[0].why == CooldownNotice::Why::asked_again));
  CHECK(asked.notices[0].step == saved + 2);
  CHECK(asked.notices[0].seconds == Approx(0.05 * static_cast<double>(asked.notices[0].end - saved)).epsilon(0.2));
  // Whatever the clock says, the rates are the same until the end is moved.
  TimedRun slower;
  slower.take(killed, saved);
  slower.step_s = [](double) { return 0.1; };
  slower.go();
  REQUIRE(!slower.notices.empty());
  CHECK(slower.notices.front().step > saved + 5);
  for (std::int64_t step = saved + 1; step <= slower.notices.front().step; ++step) {
    CHECK(slower.rates.at(step) == straight.rates.at(step));
  }
  CHECK(ends_in_time(slower));
}

TEST_CASE("time budget: killed shortly before a cool-down that train.steps decides, a run goes on to the same bytes") {
  Config config = timed_config();
  config.train.steps = 300;
  config.checkpoint.every = 235;  // the rate falls from step 240 on
  TimedRun straight(config), killed(config), resumed(config);
  straight.go();
  struct Kill {};
  CHECK_THROWS_AS(killed.go({.progress =
                                 [](const ProgressState& progress) {
                                   if (progress.step == 238) throw Kill();
                                 }}),
                  Kill);
  resumed.take(killed, 235);
  resumed.go();
  for (std::int64_t step = 236; step <= 300; ++step) CHECK(resumed.rates.at(step) == straight.rates.at(step));
  CHECK(resumed.weights() == straight.weights());
}

TEST_CASE("time budget: no options repeat a run that had no clock at first") {
  Config config = timed_config();
  config.train.minutes = 0;
  config.train.steps = 100;
  TimedRun plain(config);
  plain.go();
  config = timed_config();
  TimedRun timed(config);
  timed.take(plain, 100);
  timed.go();
  CHECK(ends_in_time(timed));
  CHECK(options_without_clock(resolve(config), timed.state).empty());
}

TEST_CASE("time budget: more minutes on resume bring the rate back to its peak, fewer let it fall at once") {
  TimedRun first;
  first.go({.stop_requested = [&] { return !first.notices.empty() && first.state.step > first.notices[0].step + 99; }});
  const std::int64_t stopped = first.state.step;
  REQUIRE(first.rates.at(stopped) < 8e-4);
  const auto resumed = [&](double minutes) {
    Config config = timed_config();
    config.train.minutes = minutes;
    auto run = std::make_unique<TimedRun>(config);
    run->take(first, stopped);
    CHECK(run->go() == TrainEnd::finished);
    CHECK(run->rates.rbegin()->second == 1e-4);
    return run;
  };
  SUBCASE("more") {
    const auto run = resumed(2);
    CHECK(ends_in_time(*run, 2));
    CHECK(run->rates.at(stopped + 1) == 1e-3);
    REQUIRE(run->notices.size() == 1);
    CHECK(run->notices[0].seconds == Approx(0.5 + 0.2 * 119.5).epsilon(0.02));
    CHECK(options_without_clock(resolve(run->config), run->state).empty());
    // A finished run goes on in the same way.
    Config config = timed_config();
    config.train.minutes = 2.5;
    TimedRun longer(config);
    longer.take(*run, run->state.step);
    CHECK(last_step(resolve(config), longer.state) == config.train.steps);
    longer.go();
    CHECK(ends_in_time(longer, 2.5));
    CHECK(longer.rates.begin()->second == 1e-3);
  }
  SUBCASE("fewer") {
    const double elapsed = first.state.elapsed_s;
    const auto run = resumed(0.5);
    CHECK(run->state.elapsed_s == Approx(1.2 * elapsed).epsilon(0.03));
    CHECK(run->rates.at(stopped + 1) < first.rates.at(stopped));
    CHECK(falls_without_jumps(*run, 100));
    // A finished run has nothing left to do.
    run->config.train.minutes = 0.4;
    const std::int64_t last = run->state.step;
    CHECK(run->go() == TrainEnd::finished);
    CHECK(run->state.step == last);
  }
  SUBCASE("fewer, before the cool-down") {
    TimedRun early;
    early.go({.stop_requested = [&] { return early.state.step == 400; }});
    const double elapsed = early.state.elapsed_s;
    Config config = timed_config();
    config.train.minutes = 0.25;
    TimedRun run(config);
    run.take(early, 400);
    run.go();
    CHECK(run.state.elapsed_s == Approx(1.2 * elapsed).epsilon(0.05));
    CHECK(run.rates.at(401) == 1e-3);
    CHECK(run.rates.rbegin()->second == 1e-4);
  }
  SUBCASE("none: the steps decide") {
    Config config = timed_config();
    config.train.minutes = 0;
    config.train.steps = stopped + 100;
    TimedRun run(config);
    run.take(first, stopped);
    run.go();
    CHECK(run.state.step == stopped + 100);
    CHECK_FALSE(run.state.clock.has_value());
  }
}

TEST_CASE("time budget: a run that train.steps ended within its time goes on with more of them") {
  Config config = timed_config();
  config.train.steps = 300;
  TimedRun first(config);
  first.go();
  REQUIRE(first.state.step == 300);
  config.train.steps = 500;
  TimedRun longer(config);
  longer.take(first, 300);
  CHECK(last_step(resolve(config), longer.state) == 500);
  longer.go();
  CHECK(longer.state.step == 500);
  CHECK(longer.rates.at(301) == 1e-3);
  CHECK(longer.rates.at(500) == 1e-4);
  CHECK(options_without_clock(resolve(config), longer.state).empty());
  // Where no time is left, the minutes say when the run ends.
  config.train.minutes = longer.state.elapsed_s / 60;
  config.train.steps = 600;
  CHECK(last_step(resolve(config), longer.state) == 500);
}

TEST_CASE("time budget: the clock sums the time of all processes of a run") {
  TimedRun run;
  for (const std::int64_t stop : {200, 500, 900}) {
    run.now += 12345;
    CHECK(run.go({.stop_requested = [&] { return run.state.step == stop; }}) == TrainEnd::stopped);
  }
  CHECK(run.go() == TrainEnd::finished);
  CHECK(ends_in_time(run));
}
