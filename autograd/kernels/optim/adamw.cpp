#include "autograd/kernels/optim/adamw.h"

#include <cmath>

#include "autograd/kernels/optim/update_parts.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// The bias corrections become two factors, computed in double: lr/(1 − β₁^step) on m, 1/√(1 − β₂^step) on √v.
template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, double weight_decay, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto set = [d](double value) SIMD_LAMBDA { return hn::Set(d, static_cast<T>(value)); };
  const auto gradient_scale = set(step.gradient_scale), eps = set(step.eps);
  const auto beta1 = set(step.beta1), new1 = set(1 - step.beta1);
  const auto beta2 = set(step.beta2), new2 = set(1 - step.beta2);
  const double steps = static_cast<double>(step.step);
  const auto m_factor = set(step.lr / (1 - std::pow(step.beta1, steps)));
  const auto root_factor = set(1 / std::sqrt(1 - std::pow(step.beta2, steps)));
  const auto l2 = set(weight_decay), keep = set(step.l2 ? 1 : 1 - step.lr * weight_decay);
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto weight = load(d, w + i, n - i);
    auto g = hn::Mul(load(d, grad + i, n - i), gradient_scale);
    if (step.l2) g = hn::MulAdd(l2, weight, g);
    const auto mean = hn::MulAdd(load(d, m + i, n - i), beta1, hn::Mul(g, new1));
    const auto square = hn::MulAdd(load(d, v + i, n - i), beta2, hn::Mul(hn::Mul(g, g), new2));
    const auto update = hn::Div(hn::Mul(mean, m_factor), hn::MulAdd(hn::Sqrt(square), root_factor, eps));
    store(d, mean, m + i, n - i);
    store(d, square, v + i, n - i);
    store(d, hn::MulSub(weight, keep, update), w + i, n - i);
  }
}

SIMD_FLOATS(adamw);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(adamw);
template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, std::span<const DecayPart> parts) {
  const Span span(SpanKind::kernel, "adamw", {.bytes = 7.0 * sizeof(T) * element_count(parts)});
  update_parts(parts, step, [&](auto i, auto count, const auto& scaled, double weight_decay) {
    SIMD_CALL(adamw, T)(w + i, m + i, v + i, grad + i, scaled, weight_decay, count);
  });
}
SIMD_INSTANTIATE(adamw);

}  // namespace tapeformer::kernels
#endif
