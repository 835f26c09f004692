// Where time goes, by name: spans around ops and kernels. They cost a load and a branch while no profile runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tapeformer {

enum class SpanKind { forward, backward, kernel };  // of an op, of an op, of a loop or a product

// What a kernel does at least: floating point operations of a product, bytes that a loop reads and writes.
struct KernelWork {
  double flops = 0, bytes = 0;
};

struct ProfileRow {
  SpanKind kind;
  std::string name;
  std::int64_t calls = 0;
  double seconds = 0;
  double inside_s = 0;  // of it in kernels (ops only)
  KernelWork work = {};
};

// Counts from now on; what was counted before is forgotten. One thread's spans are counted: the one that calls this.
void start_profile();
// Rows of the same kind and name added up, the longest first.
std::vector<ProfileRow> stop_profile();

namespace detail {
extern thread_local bool profiling;
}
inline bool is_profiling() { return detail::profiling; }

// The time between construction and destruction. A kernel inside another kernel is part of that one. An op inside
// another op's backward counts in both.
class Span {
 public:
  Span(SpanKind kind, const char* name, const KernelWork& work = {}) {
    if (is_profiling()) begin(kind, name, work);
  }
  ~Span() {
    if (row_ >= 0) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(SpanKind kind, const char* name, const KernelWork& work);
  void end();

  int row_ = -1;
  double outer_kernel_s_ = 0;
  SpanKind kind_ = SpanKind::kernel;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tapeformer
