#include "cli/terminal/stop_signal.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <iterator>

#include "core/error.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kSamePress = 100'000'000;  // nanoseconds
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

// Globals, since a signal handler takes no other state.
std::atomic<bool> in_use = false;
std::atomic<int> received = 0;
std::atomic<std::int64_t> received_at = 0;
struct sigaction old_actions[std::size(kSignals)];

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

extern "C" void on_signal(int signal) {
  if (received == 0) {
    received_at = nanoseconds();
    received = signal;
  } else if (signal == SIGINT && nanoseconds() - received_at > kSamePress) {
    ::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);  // delivered when this handler returns
  }
}

}  // namespace

StopSignal::StopSignal() {
  check(!in_use.exchange(true), "StopSignal: another one is alive");
  received = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &old_actions[i]);
    if (old_actions[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &old_actions[i], nullptr);
  in_use = false;
}

int StopSignal::signal() const { return received; }

}  // namespace tapeformer
