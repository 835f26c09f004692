#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>

#include "cli/terminal/stop_notice.h"
#include "cli/terminal/stop_signal.h"
#include "core/error.h"
#include "tests/system_calls.h"

using namespace tapeformer;

namespace {

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

TEST_CASE("stop signal: the first SIGINT or SIGTERM is kept, and handlers are restored") {
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  for (const int signal : kStopSignals) {
    const StopSignal stop;
    CHECK_FALSE(stop.requested());
    ::raise(signal);
    CHECK(stop.requested());
    CHECK(stop.signal() == signal);
    ::raise(SIGTERM);
    ::raise(SIGINT);                                                 // at once after the first: the same wish
    CHECK(stop.signal() == (signal == SIGPIPE ? SIGTERM : signal));  // SIGPIPE is nobody's wish
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
  for (const int signal : kStopSignals) CHECK(WEXITSTATUS(ignoring(signal)) == 42);
}

TEST_CASE("stop signal: a second SIGINT ends the process, and any other signal while there is no work to save") {
  const auto twice = [](int first, int second, bool work = true) {
    return status_of_child([&] {
      for (const int signal : kStopSignals) ::signal(signal, SIG_DFL);  // doctest's own handlers would report them
      const StopSignal stop;
      if (work) StopSignal::work_begins();
      ::raise(first);
      ::usleep(150'000);
      ::raise(second);
    });
  };
  CHECK(WTERMSIG(twice(SIGINT, SIGINT)) == SIGINT);
  CHECK(WTERMSIG(twice(SIGTERM, SIGINT)) == SIGINT);
  CHECK(WEXITSTATUS(twice(SIGINT, SIGTERM)) == 42);
  CHECK(WEXITSTATUS(twice(SIGHUP, SIGTERM)) == 42);
  CHECK(WTERMSIG(twice(SIGHUP, SIGTERM, false)) == SIGTERM);
  CHECK(WTERMSIG(twice(SIGTERM, SIGINT, false)) == SIGINT);
  CHECK(WEXITSTATUS(twice(SIGPIPE, SIGPIPE, false)) == 42);  // each message that is lost raises it
  CHECK(WEXITSTATUS(twice(SIGPIPE, SIGINT)) == 42);
  CHECK(WEXITSTATUS(twice(SIGXCPU, SIGXCPU, false)) == 42);  // each second beyond the limit raises it
}

TEST_CASE("stop signal: the first SIGINT may ask for a cool-down, and the next ones stop and end the process") {
  const auto sent = [](std::initializer_list<int> signals, int pause_us = 150'000) {
    return status_of_child([&] {
      for (const int signal : kStopSignals) ::signal(signal, SIG_DFL);
      const StopSignal stop;
      StopSignal::work_begins();
      StopSignal::interrupt_cools_down();
      for (const int signal : signals) {
        ::raise(signal);
        ::usleep(pause_us);
      }
      if (StopSignal::requested()) ::_exit(StopSignal::cooldown_requested() ? 3 : 2);
      if (StopSignal::cooldown_requested()) ::_exit(1);
    });
  };
  CHECK(WEXITSTATUS(sent({})) == 42);
  CHECK(WEXITSTATUS(sent({SIGINT})) == 1);
  CHECK(WEXITSTATUS(sent({SIGINT, SIGINT}, 0)) == 1);  // one press that came twice
  CHECK(WEXITSTATUS(sent({SIGINT, SIGINT})) == 3);
  CHECK(WTERMSIG(sent({SIGINT, SIGINT, SIGINT})) == SIGINT);
  CHECK(WEXITSTATUS(sent({SIGTERM})) == 2);
  CHECK(WEXITSTATUS(sent({SIGINT, SIGTERM})) == 3);
  CHECK(WTERMSIG(sent({SIGTERM, SIGINT})) == SIGINT);  // a stop is under way: as without a clock
  const StopSignal later;
  ::raise(SIGINT);
  CHECK(StopSignal::requested());  // only a training by the clock cools down
}

TEST_CASE("stop signal: only the signals that are asked for are kept") {
  struct sigaction action {};
  const StopSignal stop({{SIGINT}});
  ::sigaction(SIGPIPE, nullptr, &action);
  CHECK((action.sa_handler == SIG_DFL));
}

TEST_CASE("stop notice: a training that goes on after a stop was requested says how long it will take, once") {
  CHECK(stop_text({}) == "stopping; how long that takes has not been measured yet");
  CHECK(stop_text({.piece = "evaluation"}) ==
        "stopping when the evaluation under way has ended; how long that takes has not been measured yet");
  CHECK(stop_text({.piece = "micro-step", .seconds_left = 39.2}) ==
        "stopping when the micro-step under way has ended, in about 40 s");

  TrainingPace pace;
  pace.begin("micro-step");
  std::promise<std::string> told;
  std::atomic<int> lines = 0;
  {
    std::atomic<bool> requested = false;
    const StopNotice notice([&] { return requested.load(); }, pace,
                            [&](const std::string& line) {
                              if (++lines == 1) told.set_value(line);
                            },
                            0);
    requested = true;
    CHECK(told.get_future().get() == stop_text(pace.now()));
  }
  CHECK(lines == 1);
  // A training that ends soon enough says nothing.
  {
    const StopNotice quick([] { return true; }, pace, [&](const std::string&) { ++lines; }, 1000);
  }
  CHECK(lines == 1);
  const NoThreads none;  // nor does one to which the system gives no thread, which goes on without
  CHECK_NOTHROW(StopNotice([] { return true; }, pace, [&](const std::string&) { ++lines; }, 0));
  CHECK(lines == 1);
}
