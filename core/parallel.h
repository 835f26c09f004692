// Parallel loops; their results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tapeformer {

// The number of threads that parallel_for and the matrix products use; default_thread_count() at first.
int thread_count();
// Throws Error for a number below 1.
void set_thread_count(int threads);
// The number of threads that a loop would use here: 1 inside another loop.
int available_threads();
// The number of physical cores that the affinity mask and the cgroup quota allow this process to use.
int default_thread_count();

namespace detail {
void run_chunks(std::int64_t chunks, void (*body)(const void*, std::int64_t), const void* context);
}

// The number of chunks into which parallel_chunks divides `size` elements.
inline std::int64_t chunk_count(std::int64_t size, std::int64_t grain) { return (size + grain - 1) / grain; }

// Calls f(chunk, chunk_begin, chunk_end) for consecutive chunks of `grain` elements of [0, size), distributed over the
// threads. Chunk boundaries depend only on size and grain, so partial results that are stored per chunk and added in
// order are the same for any number of threads. Chunks are started in order. The first exception thrown by f is
// rethrown. A loop inside another loop runs serially.
template <class F>
void parallel_chunks(std::int64_t size, std::int64_t grain, const F& f) {
  struct Context {
    const F& f;
    std::int64_t size, grain;
  };
  const Context context{f, size, grain};
  const auto body = [](const void* raw, std::int64_t chunk) {
    const Context& c = *static_cast<const Context*>(raw);
    c.f(chunk, chunk * c.grain, std::min(c.size, (chunk + 1) * c.grain));
  };
  detail::run_chunks(chunk_count(size, grain), body, &context);
}

// Calls f(chunk_begin, chunk_end) for chunks of `grain` elements of [begin, end).
template <class F>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const F& f) {
  parallel_chunks(end - begin, grain,
                  [&](std::int64_t, std::int64_t first, std::int64_t last) { f(begin + first, begin + last); });
}

}  // namespace tapeformer
