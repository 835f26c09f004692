#include "bench/profile_report.h"

#include <cstdio>
#include <map>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/tensor/tensor.h"
#include "core/profile.h"

namespace tapeformer::bench {
namespace {

template <class... Values>
std::string line(const char* format, const Values&... values) {
  char buffer[160];
  std::snprintf(buffer, sizeof(buffer), format, values...);
  return buffer;
}

// FLOP/s of one large product: what the machine does at its best.
double sgemm_speed(const Work& work) {
  constexpr std::int64_t kSize = 2048;
  const Tensor a = Tensor::full({kSize, kSize}, DType::f32, 0.5), c = Tensor::full({kSize, kSize}, DType::f32, 0);
  const double seconds = median_seconds(work, [&] {
    kernels::gemm(c.data<float>(), kSize, {a.data<float>(), kSize}, {a.data<float>(), kSize}, kSize, kSize, kSize, 1.0f,
                  0.0f);
  });
  return 2.0 * kSize * kSize * kSize / seconds;
}

struct OpTimes {
  double forward_s = 0, backward_s = 0, kernels_s = 0;
  std::int64_t calls = 0;
};

}  // namespace

void print_profile(std::ostream& out, const Work& work, const std::function<void()>& step) {
  start_profile();
  const double seconds = seconds_of([&] {
    for (int i = 0; i < work.steps; ++i) step();
  });
  const std::vector<ProfileRow> rows = stop_profile();
  const double per_step_ms = 1e3 / work.steps;

  std::map<std::string, OpTimes> ops;
  double ops_s = 0, kernels_s = 0, flops = 0;
  for (const ProfileRow& row : rows) {
    if (row.kind == SpanKind::kernel) {
      kernels_s += row.seconds;
      flops += row.work.flops;
      continue;
    }
    OpTimes& op = ops[row.name];
    (row.kind == SpanKind::forward ? op.forward_s : op.backward_s) += row.seconds;
    if (row.kind == SpanKind::forward) op.calls += row.calls;
    op.kernels_s += row.inside_s;
    ops_s += row.seconds;
  }

  out << line("%-34s %8s %12s %12s %12s %8s\n", "op (ms a step)", "calls", "forward", "backward", "not kernels",
              "share");
  for (const auto& [name, op] : ops) {
    const double all = op.forward_s + op.backward_s;
    out << line("%-34s %8.1f %12.3f %12.3f %12.3f %7.1f%%\n", name.c_str(), static_cast<double>(op.calls) / work.steps,
                op.forward_s * per_step_ms, op.backward_s * per_step_ms, (all - op.kernels_s) * per_step_ms,
                100 * all / seconds);
  }
  out << line("%-34s %8s %12s %12s %12.3f %7.1f%%\n\n", "outside of ops", "", "", "", (seconds - ops_s) * per_step_ms,
              100 * (1 - ops_s / seconds));

  out << line("%-34s %8s %12s %10s %10s %8s\n", "kernel (ms a step)", "calls", "time", "GFLOP/s", "GB/s", "share");
  for (const ProfileRow& row : rows) {
    if (row.kind != SpanKind::kernel) continue;
    const auto rate = [&](double amount) {
      return amount > 0 ? line("%.1f", amount / row.seconds * 1e-9) : std::string();
    };
    out << line("%-34s %8.1f %12.3f %10s %10s %7.1f%%\n", row.name.c_str(), static_cast<double>(row.calls) / work.steps,
                row.seconds * per_step_ms, rate(row.work.flops).c_str(), rate(row.work.bytes).c_str(),
                100 * row.seconds / seconds);
  }
  out << line("%-34s %8s %12.3f %10s %10s %7.1f%%\n\n", "outside of kernels", "", (seconds - kernels_s) * per_step_ms,
              "", "", 100 * (1 - kernels_s / seconds));
  const double peak = sgemm_speed(work);
  out << line(
      "step %.2f ms, products %.1f GFLOP a step, %.1f of the machine's %.1f sgemm GFLOP/s: %.1f %% utilisation\n",
      seconds * per_step_ms, flops * 1e-9 / work.steps, flops / seconds * 1e-9, peak * 1e-9,
      100 * flops / seconds / peak);
}

}  // namespace tapeformer::bench
