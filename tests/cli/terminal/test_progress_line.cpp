#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <sstream>

#include "cli/terminal/terminal.h"
#include "cli/terminal/training_line.h"
#include "core/text/numbers.h"

using namespace tapeformer;

namespace {

const ProgressState kState{
    .step = 1200, .steps = 2000, .loss = 1.88571, .lr = 3.53e-4, .tokens_per_s = 41234, .elapsed_s = 52.4};
const std::string kLine = "step 1200/2000  60%  loss 1.8857  41.2k tokens/s  lr 0.000353  52s elapsed  35s left";

std::string format(const ProgressState& state, TrainingFacts facts = {.mean_loss = 1.88571}, int columns = 0) {
  return fit_line(training_parts(state, facts), columns);
}

// What ProgressLine writes with a clock and a width of our own.
struct Screen {
  std::ostringstream out;
  int columns = 0;
  double now = 1000;
  ProgressLine line{out, [this] { return columns; }, [this] { return now; }};

  // Shows the parts if the line is due, and returns what was written.
  std::string update(const std::vector<ProgressPart>& parts) {
    if (line.is_due()) line.show(parts);
    return written();
  }
  std::string written() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

}  // namespace

TEST_CASE("progress: durations") {
  CHECK(format_duration(0) == "0s");
  CHECK(format_duration(42.4) == "42s");
  CHECK(format_duration(59.6) == "1m00s");
  CHECK(format_duration(192) == "3m12s");
  CHECK(format_duration(3599.7) == "1h00m");
  CHECK(format_duration(7500) == "2h05m");
  CHECK(format_duration(86400 - 10) == "1d00h");
  CHECK(format_duration(3 * 86400 + 4 * 3600) == "3d04h");
  CHECK(format_duration(-1) == "?");
  CHECK(format_duration(std::nan("")) == "?");
  CHECK(format_duration(INFINITY) == "?");
}

TEST_CASE("progress: the line of a training, its rate in three digits and its time left") {
  CHECK(format(kState) == kLine);
  ProgressState state = kState;
  state.first_step = 1100;  // resumed: 100 steps took 50 seconds
  state.elapsed_s = 50;
  CHECK(format(state).ends_with("  50s elapsed  6m40s left"));
  state.waiting = 0.123;  // for other ranks
  CHECK(format(state).ends_with("  6m40s left  12% waiting"));
  state = {.step = 0, .steps = 10};
  CHECK(format(state, {}) == "step 0/10  0%  0 tokens/s  lr 0  0s elapsed  ? left");
  CHECK(format_rate(950.2) == "950");
  CHECK(format_rate(999.6) == "1.00k");
  CHECK(format_rate(9996) == "10.0k");
  CHECK(format_rate(41234) == "41.2k");
  CHECK(format_rate(412340) == "412k");
  CHECK(format_rate(1.204e6) == "1.20M");
  CHECK(format_bytes(29'120) == "29 kB");
  CHECK(format_bytes(949'000) == "949 kB");
  CHECK(format_bytes(951'000) == "1.0 MB");
  CHECK(format_bytes(4'230'000) == "4.2 MB");
  CHECK(format_bytes(512'300'000) == "512 MB");
  CHECK(format_bytes(1'234'000'000) == "1.2 GB");
  CHECK(format_bytes(240'000'000'000) == "240 GB");
}

TEST_CASE("progress: validation loss, share of the peak and memory stand in the line as soon as they are known") {
  const TrainingFacts facts{
      .mean_loss = 1.9, .validation_loss = 1.91234, .share_of_peak = 0.626, .peak_memory = 512'000'000};
  CHECK(format(kState, facts) ==
        "step 1200/2000  60%  loss 1.9000  valid 1.9123  41.2k tokens/s  63% of peak  lr 0.000353  512 MB  "
        "52s elapsed  35s left");
}

TEST_CASE("progress: labels that are smoothed or weighted and a z-loss are named, and large perplexities are short") {
  ProgressState state = kState;
  state.smoothed = true;
  CHECK(format(state).find("  60%  label-smoothed loss 1.8857  41") != std::string::npos);
  state.with_z = true;
  CHECK(format(state).find("  60%  label-smoothed loss + z 1.8857  41") != std::string::npos);
  state.smoothed = state.with_z = false, state.weighted = true;
  CHECK(format(state).find("  60%  weighted loss 1.8857  41") != std::string::npos);
  CHECK(format_perplexity(23.0957) == "23.10");
  CHECK(format_perplexity(999999.2) == "999999.20");
  CHECK(format_perplexity(5.4321e85) == "5.4e85");
  CHECK(format_perplexity(INFINITY) == "inf");
}

TEST_CASE("progress: a narrow line has the parts that matter most, each of them whole") {
  const TrainingFacts facts{.mean_loss = 1.9, .validation_loss = 1.9, .share_of_peak = 0.6, .peak_memory = 1 << 29};
  CHECK(format(kState, facts, 60) == "step 1200/2000  60%  loss 1.9000  valid 1.9000  35s left");
  CHECK(format(kState, facts, 54) == "step 1200/2000  loss 1.9000  valid 1.9000  35s left");
  CHECK(format(kState, facts, 40) == "step 1200/2000  loss 1.9000  35s left");
  CHECK(format(kState, facts, 30) == "step 1200/2000  loss 1.9000");
  CHECK(format(kState, facts, 20) == "step 1200/2000");
  CHECK(format(kState, facts, 6) == "step 1");
  for (int columns = 1; columns < 140; ++columns) {
    CHECK(format(kState, facts, columns).size() <= static_cast<std::size_t>(columns));
  }
}

TEST_CASE("progress: the loss shown is the mean of the last steps, the first steps included as they are") {
  std::ostringstream out;
  double now = 0;
  TrainingLine line(ProgressLine(
                        out, [] { return 0; }, [&] { return now += 100; }),
                    2e6, 1e12);
  const auto shown_loss = [&](double loss, bool scored = true) {
    out.str("");
    line.step({.step = 1, .steps = 9, .loss = loss, .scored = scored, .tokens_per_s = 1e5});
    const std::string text = out.str();
    CHECK(text.find("  20% of peak  ") != std::string::npos);  // 1e5 tokens/s of 2e6 operations, of 1e12
    return std::stod(text.substr(text.find("loss ") + 5));
  };
  line.step({.step = 1, .steps = 9, .scored = false, .tokens_per_s = 1e5});  // a step without targets has no loss
  CHECK(out.str().find("loss") == std::string::npos);
  CHECK(shown_loss(4) == doctest::Approx(4).epsilon(1e-4));
  CHECK(shown_loss(2) == doctest::Approx((0.98 * 4 + 2) / 1.98).epsilon(1e-4));
  for (int i = 0; i < 400; ++i) shown_loss(3);
  CHECK(shown_loss(3) == doctest::Approx(3).epsilon(1e-3));
  CHECK(shown_loss(0, /*scored=*/false) == doctest::Approx(3).epsilon(1e-3));
}

TEST_CASE("progress: a training by the clock shows its minutes, and its last step once that is known") {
  const auto line = [](bool end_is_known) {
    const TimeBudget::Time time{.done_s = 150, .whole_s = 600, .end_is_known = end_is_known};
    return fit_line(training_parts({.step = 300, .steps = 1500, .elapsed_s = 20, .time = time}, {.mean_loss = 2}), 0);
  };
  CHECK(line(false).starts_with("step 300  2.5/10 min  25%  loss "));
  CHECK(line(true).starts_with("step 300/1500  2.5/10 min  25%  loss "));
  CHECK(line(true).find("  7m30s left") != std::string::npos);
}

TEST_CASE("progress: the share of the peak is never above all of it") {
  std::ostringstream out;
  double now = 0;
  TrainingLine line(ProgressLine(
                        out, [] { return 0; }, [&] { return now += 100; }),
                    2e6, 1e12);
  line.step({.step = 1, .steps = 9, .loss = 1, .tokens_per_s = 4e5});
  CHECK(out.str().find("  80% of peak  ") != std::string::npos);
  CHECK_FALSE(line.exceeds_peak());
  out.str("");
  line.step({.step = 2, .steps = 9, .loss = 1, .tokens_per_s = 6e5});
  CHECK(out.str().find("  100% of peak  ") != std::string::npos);
  CHECK(line.exceeds_peak());
}

TEST_CASE("progress: in a log a plain line every ten seconds, and one at the end") {
  Screen screen;
  const std::vector<ProgressPart> parts{{"step 7", 1}, {"3s left", 2}};
  CHECK(screen.update(parts) == "step 7  3s left\n");
  for (int i = 0; i < 99; ++i) {
    screen.now += 0.1;
    screen.line.clear();
    CHECK(screen.update(parts).empty());
  }
  screen.now += 0.2;
  CHECK(screen.update(parts) == "step 7  3s left\n");
  screen.line.end();
  CHECK(screen.written().empty());
}

TEST_CASE("progress: on a terminal the line is rewritten in place and never wraps") {
  Screen screen;
  screen.columns = 200;
  const std::vector<ProgressPart> parts{{"step 1200/2000", 1}, {"60%", 2}, {"35s left", 3}};
  CHECK(screen.update(parts) == "\rstep 1200/2000  60%  35s left\x1b[K");
  screen.now += 0.05;
  CHECK(screen.update(parts).empty());
  screen.now += 0.06;
  screen.columns = 20;
  CHECK(screen.update(parts) == "\rstep 1200/2000  60%\x1b[K");
  screen.line.clear();
  CHECK(screen.written() == "\r\x1b[K");
  screen.line.clear();
  CHECK(screen.written().empty());
  screen.now += 1;
  screen.columns = 1;
  CHECK(screen.update(parts) == "\rs\x1b[K");
  ProgressLine::clear_visible();
  CHECK(screen.written() == "\r\x1b[K");
  ProgressLine::clear_visible();
  CHECK(screen.written().empty());
  screen.line.show(parts);
  CHECK(screen.written() == "\rs\x1b[K");
  screen.line.end();
  CHECK(screen.written() == "\n");
}

TEST_CASE("progress: a pipe is no terminal") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(terminal_columns(ends[1]) == 0);
  ::close(ends[0]);
  ::close(ends[1]);
}
