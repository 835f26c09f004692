#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"

using namespace tapeformer;

TEST_CASE("parallel_for: visits every element once, in chunks that do not depend on the number of threads") {
  const int before = thread_count();
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  for (int threads : {1, 2, 7}) {
    set_thread_count(threads);
    std::vector<std::atomic<int>> visits(1000);
    std::vector<std::pair<std::int64_t, std::int64_t>> bounds(chunk_count(1000, 64));
    parallel_chunks(1000, 64, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      bounds[chunk] = {begin, end};
      for (std::int64_t i = begin; i < end; ++i) ++visits[i];
    });
    for (const auto& count : visits) CHECK(count == 1);
    if (expected.empty()) expected = bounds;
    CHECK(bounds == expected);
  }
  set_thread_count(before);
}

TEST_CASE("parallel_for: an exception in a chunk reaches the caller") {
  CHECK_THROWS_WITH_AS(
      parallel_for(0, 100, 10, [](std::int64_t begin, std::int64_t) { check(begin != 50, "chunk ", begin); }),
      "chunk 50", Error);
  CHECK_THROWS_WITH_AS(set_thread_count(0), "threads: expected at least 1, got 0", Error);
}

TEST_CASE("parallel_for: loops begun by several threads at once, and inside of loops, are complete") {
  const int before = thread_count();
  set_thread_count(3);
  std::atomic<std::int64_t> total = 0;
  const auto loops = [&] {
    for (int i = 0; i < 300; ++i) {
      parallel_for(0, 20, 1, [&](std::int64_t outer, std::int64_t) {
        if (available_threads() != 1) throw Error("a loop inside of a loop has threads");
        parallel_for(0, 10, 3, [&](std::int64_t begin, std::int64_t end) { total += outer * (end - begin); });
      });
    }
  };
  {
    const std::jthread other(loops), third(loops);
    loops();
  }
  CHECK(total == 3 * 300 * 10 * (19 * 20 / 2));
  CHECK(available_threads() == 3);
  set_thread_count(before);
}

TEST_CASE("parallel_for: threads that have gone to sleep wake up, and more join when asked for") {
  const int before = thread_count();
  for (int threads : {2, 6, 3}) {
    set_thread_count(threads);
    for (int round = 0; round < 3; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::mutex mutex;
      std::set<std::thread::id> seen;
      // Every chunk waits until all threads have one: exactly that many threads must take part.
      std::atomic<int> arrived = 0;
      parallel_for(0, threads, 1, [&](std::int64_t, std::int64_t) {
        ++arrived;
        while (arrived < threads) std::this_thread::yield();
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      });
      CHECK(static_cast<int>(seen.size()) == threads);
    }
  }
  set_thread_count(before);
}

namespace {

// Returns the chunk with which another thread than the caller begins a loop of eight chunks. `loop` runs a loop of so
// many chunks, which calls what it is given with the number of the chunk.
std::int64_t first_chunk_of_second_thread(const auto& loop) {
  const int before = thread_count();
  set_thread_count(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::int64_t> first = -1;
  loop(8, [&](std::int64_t chunk) {
    if (std::this_thread::get_id() != caller) {
      std::int64_t none = -1;
      first.compare_exchange_strong(none, chunk);
    }
    while (first < 0) std::this_thread::yield();
  });
  set_thread_count(before);
  return first;
}

}  // namespace

TEST_CASE("parallel_for: each thread begins with its own part of a loop") {
  for (int round = 0; round < 20; ++round) {
    CHECK(first_chunk_of_second_thread([](std::int64_t chunks, const auto& f) {
            parallel_for(0, chunks, 1, [&](std::int64_t chunk, std::int64_t) { f(chunk); });
          }) == 4);
  }
}

TEST_CASE("parallel_in_order: tasks begin in order, whichever thread begins them") {
  for (int round = 0; round < 20; ++round) {
    // The caller may not have begun yet.
    CHECK(first_chunk_of_second_thread([](std::int64_t count, const auto& f) { parallel_in_order(count, f); }) <= 1);
  }
}
