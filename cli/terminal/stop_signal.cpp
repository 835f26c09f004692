#include "cli/terminal/stop_signal.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "core/error.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kSamePress = 100'000'000;  // nanoseconds: two signals within this time count as one

// These are globals, since a signal handler can use no other state.
std::atomic<bool> in_use = false, saves_work = false;
std::atomic<bool> may_cool_down = false;     // whether the first SIGINT asks for a cool-down
std::atomic<std::int64_t> cool_down_at = 0;  // when a SIGINT asked for a cool-down; 0: none has
bool watches_terminal = false;               // whether the loss of the terminal counts as SIGHUP
bool watches_pipe = false;                   // whether a pipe without a reader counts as SIGPIPE
std::atomic<int> received = 0;
std::atomic<std::int64_t> received_at = 0;

// The handler that a signal had before.
struct OldAction {
  int signal;
  struct sigaction action;
};
std::vector<OldAction> old_actions;

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

extern "C" void on_signal(int signal) {
  const int error = errno;  // keeps errno of the system call that the signal interrupted
  // The user did not ask for these, and they repeat themselves: with each message that nobody reads, and each second.
  const bool is_request = signal != SIGPIPE && signal != SIGXCPU;
  if (received == 0 && signal == SIGINT && may_cool_down && cool_down_at == 0) {
    cool_down_at = nanoseconds();
  } else if (received == 0 && signal == SIGINT && cool_down_at != 0 && nanoseconds() - cool_down_at <= kSamePress) {
    // a repeated signal of the same key press: ignored
  } else if (received == 0 || (received == SIGPIPE && is_request)) {
    received_at = nanoseconds();
    received = signal;
  } else if (is_request && (signal == SIGINT || !saves_work) && nanoseconds() - received_at > kSamePress) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // it is delivered when this handler returns
  }
  errno = error;
}

// Returns SIGHUP if the terminal of standard error was closed, SIGPIPE if nobody reads the pipe, else 0. It is polled
// because a closed terminal sends SIGHUP only to the processes that it controls, and a pipe sends SIGPIPE only on a
// write.
int loss_of_reader() {
  pollfd messages{STDERR_FILENO, 0, 0};
  if (!(watches_terminal || watches_pipe) || ::poll(&messages, 1, 0) != 1) return 0;
  if (watches_terminal && (messages.revents & POLLHUP) != 0) return SIGHUP;
  return watches_pipe && (messages.revents & POLLERR) != 0 ? SIGPIPE : 0;
}

}  // namespace

StopSignal::StopSignal(std::span<const int> signals) {
  check(!in_use.exchange(true), "StopSignal: another one is alive");
  received = 0;
  saves_work = may_cool_down = false;
  cool_down_at = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : signals) {
    struct sigaction old {};
    ::sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    old_actions.push_back({signal, old});
    ::sigaction(signal, &action, nullptr);
    if (signal == SIGHUP) watches_terminal = ::isatty(STDERR_FILENO) != 0;
    if (signal == SIGPIPE) watches_pipe = true;
  }
}

StopSignal::~StopSignal() {
  for (const OldAction& old : old_actions) ::sigaction(old.signal, &old.action, nullptr);
  old_actions.clear();
  watches_terminal = watches_pipe = false;
  received = 0;
  in_use = false;
}

int StopSignal::signal() {
  if (received == 0) {
    if (const int signal = loss_of_reader()) received = signal;
  }
  return received;
}

void StopSignal::work_begins() { saves_work = true; }

void StopSignal::interrupt_cools_down() { may_cool_down = true; }

bool StopSignal::cooldown_requested() { return cool_down_at != 0; }

}  // namespace tapeformer
