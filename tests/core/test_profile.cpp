#include "core/profile.h"

#include <doctest/doctest.h>

#include <chrono>

#include "core/parallel.h"

using namespace tapeformer;

namespace {

// Works for at least this long.
void spend(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
  }
}

const ProfileRow& row_of(const std::vector<ProfileRow>& rows, SpanKind kind, const std::string& name) {
  for (const ProfileRow& row : rows) {
    if (row.kind == kind && row.name == name) return row;
  }
  FAIL("no row ", name);
  return rows.front();
}

}  // namespace

TEST_CASE("profile: rows of a name add up, kernels count inside their op, inner kernels in the outer one") {
  start_profile();
  for (int i = 0; i < 3; ++i) {
    const Span op(SpanKind::forward, "op");
    spend(0.002);
    const Span kernel(SpanKind::kernel, "outer", {.flops = 10, .bytes = 4});
    const Span inner(SpanKind::kernel, "inner", {.flops = 1000});
    spend(0.001);
  }
  { const Span op(SpanKind::backward, "op"); }
  const std::vector<ProfileRow> rows = stop_profile();
  REQUIRE(rows.size() == 3);
  const ProfileRow &op = row_of(rows, SpanKind::forward, "op"), &kernel = row_of(rows, SpanKind::kernel, "outer");
  CHECK(row_of(rows, SpanKind::backward, "op").calls == 1);
  CHECK(op.calls == 3);
  CHECK(op.seconds >= 0.009);
  CHECK(op.inside_s == kernel.seconds);
  CHECK(kernel.seconds >= 0.003);
  CHECK(kernel.seconds <= op.seconds);
  CHECK(kernel.calls == 3);
  CHECK(kernel.work.flops == 30);
  CHECK(kernel.work.bytes == 12);
  CHECK(&op == rows.data());  // the longest first
}

TEST_CASE("profile: nothing is counted before, after, or by other threads") {
  { const Span span(SpanKind::kernel, "before"); }
  start_profile();
  parallel_for(0, 8, 1, [](std::int64_t, std::int64_t) { const Span span(SpanKind::kernel, "in a loop"); });
  for (const ProfileRow& row : stop_profile()) {
    CHECK(row.name == "in a loop");
    CHECK(row.calls <= 8);
  }
  { const Span span(SpanKind::kernel, "after"); }
  start_profile();
  CHECK(stop_profile().empty());
}
