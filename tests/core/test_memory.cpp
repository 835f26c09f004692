#include <doctest/doctest.h>
#include <sys/mman.h>

#include "core/memory.h"

using namespace tapeformer;

TEST_CASE("memory: the peak is what was resident at most, until it begins anew") {
  constexpr std::int64_t kBytes = 64 << 20, kNoise = 4 << 20;
  reset_peak_resident();
  const std::int64_t before = resident_bytes();
  REQUIRE(before > 0);
  CHECK(peak_resident_bytes() >= before);
  CHECK(peak_resident_bytes() < before + kNoise);
  // Pages from the system itself: a sanitizer's heap keeps what is freed, and notes down what is written.
  void* const pages =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  CHECK(resident_bytes() > before + kBytes - kNoise);
  ::munmap(pages, kBytes);
  CHECK(resident_bytes() < before + kNoise);
  CHECK(peak_resident_bytes() > before + kBytes - kNoise);
  CHECK(peak_resident_bytes() < before + kBytes + kNoise);
  reset_peak_resident();
  CHECK(peak_resident_bytes() < before + kNoise);
}

TEST_CASE("memory: a process has less memory than the machine or its cgroup allows") {
  CHECK(machine_memory_bytes() > peak_resident_bytes());
  CHECK(machine_memory_bytes() < std::int64_t{1} << 50);
}
