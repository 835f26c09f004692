#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "autograd/tensor/allocator.h"
#include "autograd/tensor/tensor.h"
#include "core/random.h"
#include "core/sanitizers.h"

using namespace tapeformer;

TEST_CASE("allocator: blocks are aligned to 64 bytes, whatever their size") {
  for (std::int64_t elements : {0, 1, 15, 16, 17, 1000, 4097, 1 << 20}) {
    const Tensor tensor = Tensor::empty({elements}, DType::f32);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data<float>()) % 64 == 0);
  }
}

TEST_CASE("allocator: a freed block is handed out again to a tensor of about its size") {
  release_cached_memory();
  const MemoryStats before = memory_stats();
  const void* first = Tensor::empty({1000}, DType::f32).data<float>();
  CHECK(memory_stats().system_requests == before.system_requests + 1);
  for (std::int64_t elements : {1000, 999, 990}) {
    CHECK(Tensor::empty({elements}, DType::f32).data<float>() == first);
  }
  CHECK(Tensor::empty({500}, DType::f64).data<double>() == static_cast<const double*>(first));
  CHECK(memory_stats().system_requests == before.system_requests + 1);
  const Tensor a = Tensor::empty({1000}, DType::f32), b = Tensor::empty({1000}, DType::f32);
  CHECK(a.data<float>() != b.data<float>());
  CHECK(memory_stats().system_requests == before.system_requests + 2);
}

TEST_CASE("allocator: statistics of what is in use, its peak and what is held") {
  release_cached_memory();
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  CHECK(before.peak == before.in_use);
  {
    const Tensor a = Tensor::empty({1 << 20}, DType::f32);
    CHECK(memory_stats().in_use == before.in_use + (4 << 20));
    const Tensor view = a.transpose(0, 0), copy = a;  // handles of the same memory
    CHECK(memory_stats().in_use == before.in_use + (4 << 20));
    const Tensor b = Tensor::empty({(1 << 20) + 1}, DType::f32);  // an eighth of its power of two more at most
    const std::int64_t b_bytes = memory_stats().in_use - before.in_use - (4 << 20);
    CHECK(b_bytes >= b.bytes());
    CHECK(b_bytes <= (4 << 20) + (1 << 19));
  }
  MemoryStats after = memory_stats();
  CHECK(after.in_use == before.in_use);
  CHECK(after.peak >= before.in_use + (8 << 20));
  CHECK(after.reserved >= before.reserved + (8 << 20));
  CHECK(after.system_requests == before.system_requests + 2);
  reset_peak_memory();
  CHECK(memory_stats().peak == before.in_use);
  release_cached_memory();
  CHECK(memory_stats().reserved == before.reserved);
}

TEST_CASE("allocator: with sizes that vary it holds at most 1.3 times the peak in use") {
  release_cached_memory();
  reset_peak_memory();
  RandomStream random(RandomKey{.seed = 1});
  // Each step has some tensors whose sizes share a factor, as for a batch of sentences of one length.
  for (int step = 0; step < 300; ++step) {
    const auto length = static_cast<std::int64_t>(1 + random.below(64));
    std::vector<Tensor> live;
    for (int i = 0; i < 40; ++i) {
      const auto width = static_cast<std::int64_t>(1 + random.below(4000));
      live.push_back(Tensor::empty({length, width}, DType::f32));
      if (random.below(4) == 0) live.erase(live.begin() + static_cast<std::ptrdiff_t>(random.below(live.size())));
      const MemoryStats stats = memory_stats();
      REQUIRE(static_cast<double>(stats.reserved) <= 1.3 * static_cast<double>(stats.peak));
    }
  }
  release_cached_memory();
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // its heap keeps what is freed for a while, and cannot resize blocks
TEST_CASE("allocator: returned blocks leave the process") {
  release_cached_memory();
  reset_peak_memory();
  const auto resident = [] {
    std::int64_t total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  const std::int64_t before = resident();
  // One tensor at a time, of 50 sizes from 1 to 3.4 MB, which have many size classes.
  for (std::int64_t i = 0; i < 50; ++i) Tensor::zeros({(std::int64_t{256} << 10) + i * 12500}, DType::f32);
  CHECK(resident() - before < std::int64_t{8} << 20);
  release_cached_memory();
}

TEST_CASE("allocator: with sizes that vary, the system clears few new pages") {
  release_cached_memory();
  reset_peak_memory();
  RandomStream random(RandomKey{.seed = 3});
  // All sentences of a step have one length, as in training of a translation model.
  const auto step = [&] {
    const auto length = static_cast<std::int64_t>(5 + random.below(9));
    std::vector<Tensor> live;
    for (int i = 0; i < 40; ++i) live.push_back(Tensor::zeros({length, i % 4 == 0 ? 150000 : 60000}, DType::f32));
    std::int64_t bytes = 0;
    for (const Tensor& tensor : live) bytes += tensor.bytes();
    return bytes;
  };
  const auto faults = [] {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  for (int i = 0; i < 20; ++i) step();
  const auto before = faults();
  std::int64_t bytes = 0;
  for (int i = 0; i < 50; ++i) bytes += step();
  CHECK((faults() - before) * sysconf(_SC_PAGESIZE) < bytes / 5);
  release_cached_memory();
}
#endif

TEST_CASE("allocator: steps of the same shapes ask the system for nothing after the first") {
  release_cached_memory();
  reset_peak_memory();
  const auto step = [] {
    RandomStream random(RandomKey{.seed = 2});
    std::vector<Tensor> live;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t sizes[] = {100, 7000, 65536, 3 * 65536, 4 * 65536, 1000000};
      live.push_back(Tensor::empty({sizes[random.below(std::size(sizes))]}, DType::f32));
      if (random.below(4) == 0) live.erase(live.begin() + static_cast<std::ptrdiff_t>(random.below(live.size())));
    }
  };
  step();
  const std::int64_t requests = memory_stats().system_requests;
  for (int i = 0; i < 5; ++i) step();
  CHECK(memory_stats().system_requests == requests);
  release_cached_memory();
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which ends the program instead
TEST_CASE("allocator: a request that cannot be met says so and leaves the statistics right") {
  const MemoryStats before = memory_stats();
  const std::int64_t too_many = std::int64_t{1} << 57;
  CHECK_THROWS_AS(Tensor::empty({too_many}, DType::f32), Error);
  CHECK(memory_stats().in_use == before.in_use);
  const Tensor fits = Tensor::full({4}, DType::f32, 1);
  CHECK(fits.to_vector<float>() == std::vector<float>{1, 1, 1, 1});
}

#endif

TEST_CASE("allocator: threads allocate and free at once") {
  const MemoryStats before = memory_stats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) {
        const Tensor tensor = Tensor::empty({1 + (i * 37 + t) % 300}, DType::f64);
        for (double& value : tensor.span<double>()) value = t;
        for (double value : tensor.span<double>()) {
          if (value != t) std::terminate();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(memory_stats().in_use == before.in_use);
}
