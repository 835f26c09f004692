#include "core/profile.h"

#include <algorithm>
#include <utility>

#include "core/steady_clock.h"

namespace tapeformer {
namespace {

// The state of the thread that profiles.
thread_local std::vector<ProfileRow> rows;
thread_local bool inside_kernel = false;
thread_local double kernel_seconds = 0;  // time in kernels of the innermost open op

}  // namespace

thread_local bool detail::profiling = false;

void start_profile() {
  rows.clear();
  kernel_seconds = 0;
  detail::profiling = true;
}

std::vector<ProfileRow> stop_profile() {
  detail::profiling = false;
  std::ranges::stable_sort(rows, std::ranges::greater(), &ProfileRow::seconds);
  return std::move(rows);
}

void Span::begin(SpanKind kind, const char* name, const KernelWork& work) {
  const bool kernel = kind == SpanKind::kernel;
  if (kernel && inside_kernel) return;
  auto row = std::ranges::find_if(rows, [&](const ProfileRow& r) { return r.kind == kind && r.name == name; });
  if (row == rows.end()) row = rows.insert(rows.end(), {kind, name});
  ++row->calls;
  row->work.flops += work.flops;
  row->work.bytes += work.bytes;
  row_ = static_cast<int>(row - rows.begin());
  kind_ = kind;
  if (kernel) {
    inside_kernel = true;
  } else {
    outer_kernel_s_ = std::exchange(kernel_seconds, 0);
  }
  begin_ = steady_seconds();
}

void Span::end() {
  const double seconds = steady_seconds() - begin_;
  if (rows.empty()) return;
  ProfileRow& row = rows[row_];
  row.seconds += seconds;
  if (kind_ == SpanKind::kernel) {
    inside_kernel = false;
    kernel_seconds += seconds;
  } else {
    row.inside_s += kernel_seconds;
    kernel_seconds += outer_kernel_s_;
  }
}

}  // namespace tapeformer
