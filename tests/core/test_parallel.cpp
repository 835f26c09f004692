#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "autograd/core/error.h"
#include "autograd/core/parallel.h"

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
