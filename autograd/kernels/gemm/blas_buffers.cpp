#include "autograd/kernels/gemm/blas_buffers.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/memory.h"

// Names of OpenBLAS that its headers do not have. They are weak: another version may do without them.
extern "C" {
extern int blas_server_avail __attribute__((weak));  // whether the buffers of its own threads are there
void* blas_memory_alloc(int purpose) __attribute__((weak));
void blas_memory_free(void* buffer) __attribute__((weak));
}

namespace tapeformer::kernels {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{128} << 20;  // of address space: pages that are used become memory
constexpr int kForProducts = 0;

// OpenBLAS's constructor makes a buffer for each core, for threads of its own, which we do not use. Where the system
// has no address space for them, it would ask for ever (0.3.21), also in a command that multiplies nothing. So it is
// told, before its constructor runs, that they are there; it makes them in the first call that wants its threads.
__attribute__((constructor(101))) void make_no_blas_buffers() {
  if (&blas_server_avail) blas_server_avail = 1;
}

void require_address_space(std::size_t bytes, int threads) {
  void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place != MAP_FAILED) {
    ::munmap(place, bytes);
    return;
  }
  constexpr std::size_t kMega = 1'000'000;
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  fail("not enough memory: matrix products of ", threads, threads == 1 ? " thread takes " : " threads take ",
       bytes / kMega, " MB of address space beside the ", address_space_bytes() / kMega, " MB in use",
       limited ? str_cat(", and the limit (ulimit -v) is ", limit.rlim_cur / kMega, " MB") : "");
}

}  // namespace

void reserve_blas_buffers(int threads) {
  static std::atomic<int> reserved = 0;
  if (threads <= reserved) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (threads <= reserved) return;
  if (reserved == 0 && &blas_server_avail) blas_server_avail = 0;
  require_address_space(static_cast<std::size_t>(threads - reserved) * kBufferBytes, threads);
  // OpenBLAS makes a buffer when none is free, and keeps it for products to come.
  if (blas_memory_alloc && blas_memory_free) {
    std::vector<void*> buffers;
    for (int i = 0; i < threads; ++i) buffers.push_back(blas_memory_alloc(kForProducts));
    for (void* const buffer : buffers) blas_memory_free(buffer);
  }
  reserved = threads;
}

}  // namespace tapeformer::kernels
