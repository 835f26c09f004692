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

// The chunks 0 to `chunks` − 1, each done by body(context, chunk). In order: whatever the threads, a chunk begins after
// all chunks before it have begun.
struct Loop {
  std::int64_t chunks = 0;
  void (*body)(const void*, std::int64_t) = nullptr;
  const void* context = nullptr;
  bool in_order = false;
};
void run(const Loop& loop);

template <class F>
void run(std::int64_t chunks, bool in_order, const F& f) {
  const auto body = [](const void* context, std::int64_t chunk) { (*static_cast<const F*>(context))(chunk); };
  run(Loop{chunks, body, &f, in_order});
}

}  // namespace detail

// The number of chunks into which parallel_chunks divides `size` elements.
inline std::int64_t chunk_count(std::int64_t size, std::int64_t grain) { return (size + grain - 1) / grain; }

// Calls f(chunk, chunk_begin, chunk_end) for consecutive chunks of `grain` elements of [0, size), distributed over the
// threads. Chunk boundaries depend only on size and grain, so partial results that are stored per chunk and added in
// order are the same for any number of threads. Each thread begins with the same part of [0, size) in every loop, which
// its own cache may still hold from the loop before, and then helps the others. The first exception thrown by f is
// rethrown. A loop inside another loop runs serially.
template <class F>
void parallel_chunks(std::int64_t size, std::int64_t grain, const F& f) {
  detail::run(chunk_count(size, grain), false,
              [&](std::int64_t chunk) { f(chunk, chunk * grain, std::min(size, (chunk + 1) * grain)); });
}

// Calls f(chunk_begin, chunk_end) for chunks of `grain` elements of [begin, end).
template <class F>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const F& f) {
  parallel_chunks(end - begin, grain,
                  [&](std::int64_t, std::int64_t first, std::int64_t last) { f(begin + first, begin + last); });
}

// Calls f(task) for the tasks 0 to count − 1, which begin in order: a task may wait for those before it.
template <class F>
void parallel_in_order(std::int64_t count, const F& f) {
  detail::run(count, true, f);
}

}  // namespace tapeformer
