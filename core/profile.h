// Measures the time of ops and kernels, by name. Without a profile, a span costs a load and a branch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapeformer {

// What a span measures: the forward of an op, its backward, or a kernel (a parallel loop or a matrix product).
enum class SpanKind { forward, backward, kernel };

// The minimal work of a kernel: floating point operations of a product, or bytes that a loop reads and writes.
struct KernelWork {
  double flops = 0, bytes = 0;
};

struct ProfileRow {
  SpanKind kind;
  std::string name;
  std::int64_t calls = 0;
  double seconds = 0;
  double inside_s = 0;  // the part of the time that is in kernels (only for ops)
  KernelWork work = {};
};

// Starts the profile and forgets earlier measurements. Only the spans of the calling thread are measured.
void start_profile();
// Ends the profile. Returns a row for each kind and name, with the sums of its spans; the longest time comes first.
std::vector<ProfileRow> stop_profile();

namespace detail {
extern thread_local bool profiling;
}
inline bool is_profiling() { return detail::profiling; }

// Measures the time between its construction and destruction. A kernel inside another kernel counts as a part of it. An
// op inside another op's backward counts in both.
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
  double begin_ = 0;  // of steady_seconds()
};

}  // namespace tapeformer
