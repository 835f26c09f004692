#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <sstream>

#include "cli/progress_line.h"
#include "cli/stop_signal.h"
#include "core/error.h"

using namespace tapeformer;

namespace {

const ProgressState kState{
    .step = 1200, .steps = 2000, .loss = 1.88571, .lr = 3.53e-4, .tokens_per_s = 41234, .elapsed_s = 52.4};
const std::string kLine = "step 1200/2000  60%  loss 1.8857  lr 0.000353  41.2k tokens/s  52s elapsed  35s left";

// What ProgressLine writes with a clock and a width of our own.
struct Screen {
  std::ostringstream out;
  int columns = 0;
  double now = 1000;
  ProgressLine line{out, [this] { return columns; }, [this] { return now; }};

  std::string written() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

// How a child process ends in which f runs, as waitpid() tells it.
template <class F>
int status_of_child(const F& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    f();
    ::_exit(42);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

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

TEST_CASE("progress: the line, its rate in three digits and its time left") {
  CHECK(format_progress(kState) == kLine);
  ProgressState state = kState;
  state.first_step = 1100;  // resumed: 100 steps took 50 seconds
  state.elapsed_s = 50;
  CHECK(format_progress(state).ends_with("  50s elapsed  6m40s left"));
  state.waiting = 0.123;  // for other ranks
  CHECK(format_progress(state).ends_with("  6m40s left  12% waiting"));
  state = {.step = 0, .steps = 10};
  CHECK(format_progress(state) == "step 0/10  0%  loss 0.0000  lr 0  0 tokens/s  0s elapsed  ? left");
  const auto rate = [](double value) {
    const std::string line = format_progress({.tokens_per_s = value});
    const std::size_t begin = line.find("lr 0  ") + 6;
    return line.substr(begin, line.find(" tokens") - begin);
  };
  CHECK(rate(950.2) == "950");
  CHECK(rate(999.6) == "1.00k");
  CHECK(rate(9996) == "10.0k");
  CHECK(rate(41234) == "41.2k");
  CHECK(rate(412340) == "412k");
  CHECK(rate(1.204e6) == "1.20M");
}

TEST_CASE("progress: a smoothed loss or one with a z-loss is called so, and large perplexities are short") {
  ProgressState state = kState;
  state.smoothed = true;
  CHECK(format_progress(state).find("  60%  smoothed loss 1.8857  lr") != std::string::npos);
  state.with_z = true;
  CHECK(format_progress(state).find("  60%  smoothed loss + z 1.8857  lr") != std::string::npos);
  CHECK(format_perplexity(23.0957) == "23.10");
  CHECK(format_perplexity(999999.2) == "999999.20");
  CHECK(format_perplexity(5.4321e85) == "5.4e85");
  CHECK(format_perplexity(INFINITY) == "inf");
}

TEST_CASE("progress: in a log a plain line every ten seconds, and one at the end") {
  Screen screen;
  screen.line.update(kState);
  CHECK(screen.written() == kLine + "\n");
  for (int i = 0; i < 99; ++i) {
    screen.now += 0.1;
    screen.line.clear();
    screen.line.update(kState);
  }
  CHECK(screen.written().empty());
  screen.now += 0.2;
  screen.line.update(kState);
  CHECK(screen.written() == kLine + "\n");
  screen.line.finish(kState);
  CHECK(screen.written() == kLine + "\n");
}

TEST_CASE("progress: on a terminal the line is rewritten in place and never wraps") {
  Screen screen;
  screen.columns = 200;
  screen.line.update(kState);
  CHECK(screen.written() == "\r" + kLine + "\x1b[K");
  screen.now += 0.05;
  screen.line.update(kState);
  CHECK(screen.written().empty());
  screen.now += 0.06;
  screen.columns = 21;
  screen.line.update(kState);
  CHECK(screen.written() == "\rstep 1200/2000  60% \x1b[K");
  screen.line.clear();
  CHECK(screen.written() == "\r\x1b[K");
  screen.line.clear();
  CHECK(screen.written().empty());
  screen.line.finish(kState);
  CHECK(screen.written() == "\rstep 1200/2000  60% \x1b[K\n");
}

TEST_CASE("progress: a pipe is no terminal") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(terminal_columns(ends[1]) == 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("stop signal: the first SIGINT or SIGTERM is kept, and handlers are restored") {
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const StopSignal stop;
    CHECK_FALSE(stop.requested());
    ::raise(signal);
    CHECK(stop.requested());
    CHECK(stop.signal() == signal);
    ::raise(SIGTERM);
    ::raise(SIGINT);  // at once after the first: the same wish
    CHECK(stop.signal() == signal);
    CHECK_THROWS_WITH_AS(StopSignal(), "StopSignal: another one is alive", Error);
  }
  ::sigaction(SIGINT, nullptr, &after);
  CHECK((before.sa_handler == after.sa_handler));
}

TEST_CASE("stop signal: a signal that is ignored stays ignored") {
  const auto ignoring = [](int signal) {
    return status_of_child([=] {
      ::signal(signal, SIG_IGN);
      const StopSignal stop;
      ::raise(signal);
      if (stop.requested()) ::_exit(1);
    });
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) CHECK(WEXITSTATUS(ignoring(signal)) == 42);
}

TEST_CASE("stop signal: a second SIGINT ends the process") {
  const auto twice = [](int first, int second) {
    return status_of_child([&] {
      ::signal(SIGINT, SIG_DFL);  // doctest's own handler would report it
      const StopSignal stop;
      ::raise(first);
      ::usleep(150'000);
      ::raise(second);
    });
  };
  CHECK(WTERMSIG(twice(SIGINT, SIGINT)) == SIGINT);
  CHECK(WTERMSIG(twice(SIGTERM, SIGINT)) == SIGINT);
  CHECK(WEXITSTATUS(twice(SIGINT, SIGTERM)) == 42);
}
