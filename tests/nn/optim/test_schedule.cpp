#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"
#include "nn/optim/schedule.h"

using namespace tapeformer;
using doctest::Approx;

namespace {

Approx near(double value) { return Approx(value).epsilon(1e-12); }

}  // namespace

TEST_CASE("schedule: inverse square root, the paper's: d = 512, warm-up 4000") {
  const ScheduleSpec paper{.kind = ScheduleKind::inverse_sqrt, .factor = 1, .dim = 512, .warmup = 4000};
  CHECK(learning_rate(paper, 4000) == near(1 / std::sqrt(512.0 * 4000)));
  CHECK(learning_rate(paper, 4000) == Approx(6.99e-4).epsilon(1e-3));
  CHECK(learning_rate(paper, 1) == near(std::pow(512, -0.5) * std::pow(4000, -1.5)));
  CHECK(learning_rate(paper, 1) == Approx(1.7469e-7).epsilon(1e-4));
  CHECK(learning_rate(paper, 16000) == near(learning_rate(paper, 4000) / 2));
  CHECK(learning_rate(paper, 100000) == Approx(1.3975e-4).epsilon(1e-4));
  for (const std::int64_t step : {1, 3999, 4001}) CHECK(learning_rate(paper, step) < learning_rate(paper, 4000));
}

TEST_CASE("schedule: inverse square root by its peak is the paper's curve with another factor") {
  const ScheduleSpec paper{.factor = 2, .dim = 128, .warmup = 100};
  const ScheduleSpec peak{.peak = 2 / std::sqrt(128.0 * 100), .warmup = 100};
  for (const std::int64_t step : {1, 2, 50, 99, 100, 101, 1000, 123456}) {
    CHECK(learning_rate(peak, step) == near(learning_rate(paper, step)));
  }
  const ScheduleSpec round{.peak = 1e-3, .warmup = 100};
  CHECK(learning_rate(round, 25) == near(2.5e-4));
  CHECK(learning_rate(round, 100) == near(1e-3));
  CHECK(learning_rate(round, 400) == near(5e-4));
}

TEST_CASE("schedule: inverse square root without warm-up falls from the first step") {
  const ScheduleSpec by_peak{.peak = 1e-3}, by_factor{.factor = 1, .dim = 4};
  CHECK(learning_rate(by_peak, 1) == near(1e-3));
  CHECK(learning_rate(by_peak, 4) == near(5e-4));
  CHECK(learning_rate(by_factor, 1) == near(0.5));
  CHECK(learning_rate(by_factor, 4) == near(0.25));
}

TEST_CASE("schedule: cosine warms up, falls through the middle and stays at its floor") {
  const ScheduleSpec cosine{.kind = ScheduleKind::cosine, .peak = 1e-3, .min_lr = 1e-4, .warmup = 100, .total = 2000};
  CHECK(learning_rate(cosine, 1) == near(1e-5));
  CHECK(learning_rate(cosine, 100) == near(1e-3));
  CHECK(learning_rate(cosine, 575) == near(1e-4 + 9e-4 * (1 + std::sqrt(0.5)) / 2));  // a quarter of the way
  CHECK(learning_rate(cosine, 1050) == near(5.5e-4));
  CHECK(learning_rate(cosine, 2000) == near(1e-4));
  CHECK(learning_rate(cosine, 5000) == near(1e-4));
  CHECK(learning_rate(cosine, 1999) > 1e-4);
}

TEST_CASE("schedule: linear and constant") {
  ScheduleSpec schedule{.kind = ScheduleKind::linear, .peak = 1e-3, .min_lr = 2e-4, .warmup = 10, .total = 110};
  CHECK(learning_rate(schedule, 5) == near(5e-4));
  CHECK(learning_rate(schedule, 10) == near(1e-3));
  CHECK(learning_rate(schedule, 60) == near(6e-4));
  CHECK(learning_rate(schedule, 110) == near(2e-4));
  CHECK(learning_rate(schedule, 111) == near(2e-4));
  schedule.kind = ScheduleKind::plateau, schedule.decay = 0.25;
  CHECK(learning_rate(schedule, 5, 2) == near(5e-4));  // warm-up
  CHECK(learning_rate(schedule, 500) == near(1e-3));
  CHECK(learning_rate(schedule, 500, 2) == near(1e-3 / 16));
  schedule.kind = ScheduleKind::constant;
  CHECK(learning_rate(schedule, 5) == near(5e-4));
  CHECK(learning_rate(schedule, 11) == near(1e-3));
  CHECK(learning_rate(schedule, 100000) == near(1e-3));
  schedule.warmup = 0;
  CHECK(learning_rate(schedule, 1) == near(1e-3));
}

TEST_CASE("schedule: a chosen cool-down of wsd begins and moves without a jump, wherever it begins") {
  for (const CooldownShape shape : {CooldownShape::linear, CooldownShape::sqrt}) {
    ScheduleSpec wsd{.kind = ScheduleKind::wsd,
                     .peak = 1e-3,
                     .min_lr = 1e-4,
                     .warmup = 100,
                     .total = 2000,
                     .cooldown_shape = shape,
                     .chosen = Cooldown()};
    CHECK(learning_rate(wsd, 50) == near(5e-4));
    CHECK(learning_rate(wsd, 1999) == 1e-3);  // no cool-down is chosen yet, and the total does not count
    const auto fall = [&](double t) { return 1e-4 + 9e-4 * (1 - (shape == CooldownShape::sqrt ? std::sqrt(t) : t)); };
    wsd.chosen = cooldown_from(wsd, 2500, 3000);
    CHECK(wsd.chosen->progress == 0);
    CHECK(learning_rate(wsd, 2500) == 1e-3);
    CHECK(learning_rate(wsd, 2625) == near(fall(0.25)));
    CHECK(learning_rate(wsd, 3000) == 1e-4);
    wsd.chosen = cooldown_from(wsd, 2750, 4250);  // a third as fast from the middle on
    CHECK(wsd.chosen->progress == near(0.5));
    CHECK(learning_rate(wsd, 2750) == near(fall(0.5)));
    CHECK(learning_rate(wsd, 3500) == near(fall(0.75)));
    CHECK(learning_rate(wsd, 4250) == 1e-4);
    wsd.chosen = Cooldown();
    wsd.chosen = cooldown_from(wsd, 55, 75);  // in warm-up, where the rate is 5.5e-4: half of the way
    CHECK(learning_rate(wsd, 55) == near(5.5e-4));
    CHECK(learning_rate(wsd, 56) < 5.5e-4);
    CHECK(learning_rate(wsd, 75) == 1e-4);
    wsd.chosen = Cooldown();
    wsd.chosen = cooldown_from(wsd, 5, 9);  // the rate is still below min_lr
    CHECK(learning_rate(wsd, 9) == 1e-4);
  }
}

TEST_CASE("schedule: a share of wsd that means a whole number of steps has the bits of the chosen cool-down") {
  for (const std::int64_t total : {997, 1000, 3001, 12345}) {
    for (const std::int64_t length : {1, 77, 500, 993}) {
      ScheduleSpec wsd{.kind = ScheduleKind::wsd, .peak = 1e-3, .min_lr = 1e-4, .warmup = 1, .total = total};
      ScheduleSpec chosen = wsd;
      wsd.cooldown = static_cast<double>(length) / static_cast<double>(total);
      chosen.chosen = Cooldown{.begin = total - length, .end = total};
      for (std::int64_t step = 2; step <= total; ++step) CHECK(learning_rate(wsd, step) == learning_rate(chosen, step));
      CHECK_FALSE(cools_down_after(wsd, total - length - 1));
      CHECK(cools_down_after(wsd, total - length));
    }
  }
}

TEST_CASE("schedule: wsd has no cool-down in steps that warm-up takes whole") {
  const ScheduleSpec wsd{.kind = ScheduleKind::wsd, .peak = 1e-3, .warmup = 200, .total = 100};
  for (const std::int64_t step : {1, 50, 98}) CHECK_FALSE(cools_down_after(wsd, step));
  CHECK(learning_rate(wsd, 100) == near(5e-4));
  CHECK(cooldown_from(wsd, 10, 100).progress == near(0.95));  // it begins at the rate that warm-up has reached
}

TEST_CASE("schedule: wsd warms up, stays at its peak and cools down over the last share of the steps") {
  ScheduleSpec wsd{
      .kind = ScheduleKind::wsd, .peak = 1e-3, .min_lr = 1e-4, .warmup = 100, .total = 2000, .cooldown = 0.2};
  CHECK(learning_rate(wsd, 50) == near(5e-4));
  for (const std::int64_t step : {100, 101, 1000, 1600}) CHECK(learning_rate(wsd, step) == near(1e-3));
  CHECK(learning_rate(wsd, 1601) == near(1e-3 - 9e-4 / 400));
  CHECK(learning_rate(wsd, 1700) == near(1e-4 + 9e-4 * 0.75));
  CHECK(learning_rate(wsd, 2000) == near(1e-4));
  CHECK(learning_rate(wsd, 2001) == near(1e-4));
  wsd.cooldown_shape = CooldownShape::sqrt;
  CHECK(learning_rate(wsd, 1600) == near(1e-3));
  CHECK(learning_rate(wsd, 1700) == near(1e-4 + 9e-4 * 0.5));
  CHECK(learning_rate(wsd, 2000) == near(1e-4));
  wsd.total = 3000, wsd.cooldown = 0.1;  // more steps move the cool-down
  CHECK(learning_rate(wsd, 2700) == near(1e-3));
  CHECK(learning_rate(wsd, 2775) == near(1e-4 + 9e-4 * 0.5));
}

TEST_CASE("schedule: a cool-down that would begin in the warm-up begins behind it") {
  const ScheduleSpec wsd{.kind = ScheduleKind::wsd, .peak = 1e-3, .warmup = 60, .total = 100, .cooldown = 1};
  CHECK(learning_rate(wsd, 60) == near(1e-3));
  CHECK(learning_rate(wsd, 80) == near(5e-4));
  CHECK(learning_rate(wsd, 100) == 0);
}

TEST_CASE("schedule: a run shorter than its warm-up ends in it") {
  const ScheduleSpec cosine{.kind = ScheduleKind::cosine, .peak = 1e-3, .min_lr = 1e-4, .warmup = 100, .total = 50};
  CHECK(learning_rate(cosine, 50) == near(5e-4));
  CHECK(learning_rate(cosine, 101) == near(1e-4));
}

TEST_CASE("schedule: steps are counted from 1") {
  CHECK_THROWS_WITH_AS(learning_rate(ScheduleSpec{}, 0), "learning_rate: steps are counted from 1, got 0", Error);
}

TEST_CASE("schedule: every kind has one word") {
  const std::vector<std::string> words = words_of<ScheduleKind>();
  CHECK(words == std::vector<std::string>{"inverse_sqrt", "cosine", "linear", "constant", "plateau", "wsd"});
  for (std::size_t i = 0; i < words.size(); ++i) {
    CHECK(value_of<ScheduleKind>(words[i]) == static_cast<ScheduleKind>(i));
    CHECK(word_of(static_cast<ScheduleKind>(i)) == words[i]);
  }
  CHECK_THROWS_WITH_AS(value_of<ScheduleKind>("step"), "no value is called step", Error);
}
