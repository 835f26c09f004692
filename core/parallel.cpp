#include "core/parallel.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include "core/cgroup.h"
#include "core/error.h"

namespace tapeformer {
namespace {

using detail::Loop;

// The number of cores in the affinity mask; the hardware threads of one core count once.
int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file(str_cat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = str_cat("cpu", cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

std::atomic<int>& threads_in_use() {
  static std::atomic<int> threads = default_thread_count();
  return threads;
}

// Whether this thread is inside a parallel loop.
thread_local bool inside_loop = false;

struct InsideLoop {
  InsideLoop() { inside_loop = true; }
  ~InsideLoop() { inside_loop = false; }
  InsideLoop(const InsideLoop&) = delete;
  InsideLoop& operator=(const InsideLoop&) = delete;
};

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Polls `ready` for a short time, less than a loop of a small model takes. Returns whether it became true.
template <class F>
bool spin_until(const F& ready) {
  constexpr auto kPatience = std::chrono::microseconds(200);
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() - begin < kPatience);
  return false;
}

// The threads that take part in loops. The caller of a loop works too and never waits for a thread that has not begun:
// on a busy machine it does all chunks itself, and waits at most for chunks that other threads have taken. (An OpenMP
// loop ends only when every thread of the team has arrived: beside one busy process, a training run of one minute took
// eight.)
class ThreadPool {
 public:
  void run(const Loop& loop, int threads) {
    const std::unique_lock one_loop(mutex_, std::try_to_lock);
    if (!one_loop) {  // another thread's loop is using the threads
      const InsideLoop inside;
      for (std::int64_t chunk = 0; chunk < loop.chunks; ++chunk) loop.body(loop.context, chunk);
      return;
    }
    add_workers(threads - 1);
    loop_ = loop, error_ = nullptr;
    helpers_ = threads - 1;
    share_out(loop.in_order ? 1 : threads);
    open_ = true;
    ++loops_;
    if (sleeping_ > 0) loops_.notify_all();
    take_chunks(0);
    open_ = false;
    // A worker that arrives from now on sees that the loop is closed, and leaves.
    while (inside_ != 0) {
      if (!spin_until([&] { return inside_ == 0; })) sched_yield();
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // Consecutive chunks, which one thread takes first of all.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };

  void share_out(int shares) {
    while (static_cast<int>(shares_.size()) < shares) shares_.emplace_back();
    share_count_ = shares;
    for (int i = 0; i < shares; ++i) {
      shares_[i].next = loop_.chunks * i / shares;
      shares_[i].end = loop_.chunks * (i + 1) / shares;
    }
  }

  // Does the chunks of a thread's own share, then those of the others that nobody has begun.
  void take_chunks(int thread) {
    const InsideLoop inside;
    for (int i = 0; i < share_count_; ++i) {
      Share& share = shares_[(thread + i) % share_count_];
      for (std::int64_t chunk = share.next++; chunk < share.end; chunk = share.next++) {
        try {
          loop_.body(loop_.context, chunk);
        } catch (...) {
          const std::lock_guard lock(error_mutex_);
          if (!error_) error_ = std::current_exception();
        }
      }
    }
  }

  // If the system refuses a thread, there are fewer: the caller does their work.
  void add_workers(int count) {
    try {
      for (; workers_ < count; ++workers_) add_worker(workers_);
    } catch (const std::system_error&) {
    }
  }

  void add_worker(int index) {
    std::thread([this, index, seen = loops_.load()]() mutable {
      while (true) {
        if (!spin_until([&] { return loops_ != seen; })) {
          ++sleeping_;
          loops_.wait(seen);
          --sleeping_;
        }
        seen = loops_;
        ++inside_;
        if (open_ && index < helpers_) take_chunks(index + 1);
        --inside_;
      }
    }).detach();
  }

  std::mutex mutex_;  // held by the thread whose loop is running
  int workers_ = 0;
  // The current loop. Workers read it only between ++inside_ and --inside_; it is written only when the loop is closed
  // and no worker is inside.
  Loop loop_ = {};
  int helpers_ = 0;
  std::deque<Share> shares_;
  int share_count_ = 0;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  // Each of these has its own cache line, because some threads write them while others read.
  alignas(64) std::atomic<bool> open_ = false;
  alignas(64) std::atomic<int> inside_ = 0;  // the number of workers that are looking at the loop
  alignas(64) std::atomic<int> sleeping_ = 0;
  alignas(64) std::atomic<std::uint32_t> loops_ = 0;  // the number of loops so far; workers wait for it to change
};

}  // namespace

int default_thread_count() {
  static const int threads = [] {
    const int cores = physical_cores(), quota = cgroup_processors();
    return quota > 0 ? std::min(cores, quota) : cores;
  }();
  return threads;
}

int thread_count() { return threads_in_use(); }

int available_threads() { return inside_loop ? 1 : thread_count(); }

void set_thread_count(int threads) {
  check(threads >= 1, "threads: expected at least 1, got ", threads);
  threads_in_use() = threads;
}

namespace detail {

void run(const Loop& loop) {
  const int threads = static_cast<int>(std::min<std::int64_t>(available_threads(), loop.chunks));
  if (threads <= 1) {
    for (std::int64_t chunk = 0; chunk < loop.chunks; ++chunk) loop.body(loop.context, chunk);
    return;
  }
  static ThreadPool& pool = *new ThreadPool;  // never destroyed: its threads may outlive every static object
  pool.run(loop, threads);
}

}  // namespace detail
}  // namespace tapeformer
