#include <cstdint>
#include <vector>

#include "autograd/kernels/read_ahead.h"
#include "doctest/doctest.h"

using namespace tapeformer;
using kernels::kCacheLine;
using kernels::ReadAhead;

TEST_CASE("read ahead: every cache line of the rows, once and in their order") {
  const std::vector<float> memory(10000);
  for (const std::int64_t offset : {0, 3, 15}) {
    CAPTURE(offset);
    for (const std::int64_t width : {1, 16, 17, 64, 100}) {
      CAPTURE(width);
      const std::int64_t distance = 200, rows = 7;
      const float* const first = memory.data() + offset;
      ReadAhead ahead;
      ahead.add(first, distance, rows, width);
      ahead.add(first + 5000, distance, 1, width);
      for (const std::int64_t row : {0, 1, 2, 3, 4, 5, 6, 25}) {
        const auto begin = reinterpret_cast<std::uintptr_t>(first + row * distance);
        for (std::uintptr_t line = begin / kCacheLine; line <= (begin + 4 * width - 1) / kCacheLine; ++line) {
          REQUIRE(ahead.next_line() == line * kCacheLine);
        }
      }
      CHECK(ahead.next_line() == 0);
    }
  }
}

TEST_CASE("read ahead: rows of no elements, more ranges than there is room for, and those that were forgotten") {
  const std::vector<double> memory(1000);
  ReadAhead ahead;
  ahead.add(memory.data(), 10, 0, 10);
  ahead.add(memory.data(), 10, 10, 0);
  CHECK(ahead.next_line() == 0);
  for (int i = 0; i < 100; ++i) ahead.add(memory.data(), 10, 30, 8);
  ahead.advance();
  std::int64_t left = 0;
  while (ahead.next_line() != 0) ++left;
  CHECK(left > 0);
  ahead.add(memory.data(), 10, 3, 8);  // an empty queue has room again
  CHECK(ahead.next_line() != 0);
  ahead.clear();
  CHECK(ahead.next_line() == 0);
  ahead.add(memory.data(), 10, 1, 1);
  CHECK(ahead.next_line() == reinterpret_cast<std::uintptr_t>(memory.data()) / kCacheLine * kCacheLine);
  CHECK(ahead.lines() == 0);
  ahead.add(memory.data(), 10, 30, 8);
  ahead.advance(4);
  CHECK(ahead.lines() > 0);
  ahead.advance(ahead.lines());  // at least those that are left
  CHECK(ahead.next_line() == 0);
  ahead.advance();  // does nothing where nothing is left
}
