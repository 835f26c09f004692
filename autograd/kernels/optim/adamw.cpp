#include "autograd/kernels/optim/adamw.h"

#include "autograd/kernels/optim/reduced_state-inl.h"
#include "autograd/kernels/optim/update_parts.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// The bias corrections become two factors, computed in double: lr/(1 − β₁^step) on m, 1/√(1 − β₂^step) on √v.
template <class T, class M, class V>
HWY_INLINE void adamw_loop(T* w, const M& m, const V& v, const T* grad, const AdamWStep& step,
                           const BiasCorrection& correction, double weight_decay, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto set = [d](double value) SIMD_LAMBDA { return hn::Set(d, static_cast<T>(value)); };
  const auto gradient_scale = set(step.gradient_scale), eps = set(step.eps);
  const auto beta1 = set(step.beta1), new1 = set(1 - step.beta1);
  const auto beta2 = set(step.beta2), new2 = set(1 - step.beta2);
  const auto m_factor = set(step.lr / correction.mean), root_factor = set(1 / correction.root);
  const auto l2 = set(weight_decay), keep = set(step.l2 ? 1 : 1 - step.lr * weight_decay);
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto weight = load(d, w + i, n - i);
    auto g = hn::Mul(load(d, grad + i, n - i), gradient_scale);
    if (step.l2) g = hn::MulAdd(l2, weight, g);
    const auto mean = hn::MulAdd(m.load(d, i, n - i), beta1, hn::Mul(g, new1));
    const auto square = hn::MulAdd(v.load(d, i, n - i), beta2, hn::Mul(hn::Mul(g, g), new2));
    const auto update = hn::Div(hn::Mul(mean, m_factor), hn::MulAdd(hn::Sqrt(square), root_factor, eps));
    m.store(d, mean, i, n - i);
    v.store(d, square, i, n - i);
    store(d, hn::MulSub(weight, keep, update), w + i, n - i);
  }
}

template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, const BiasCorrection& correction,
           double weight_decay, std::int64_t n) {
  adamw_loop(w, ArrayMoment<T>{m}, ArrayMoment<T>{v}, grad, step, correction, weight_decay, n);
}

SIMD_FLOATS(adamw);

void adamw_block(float* w, const ReducedState& m, const ReducedState& v, const float* grad, const AdamWStep& step,
                 const BiasCorrection& correction, double weight_decay, const StateLayout& layout,
                 const StateBlock& block) {
  BlockNumbers mean, square;
  const auto update = [&](const auto& old_mean, const auto& old_square) SIMD_LAMBDA {
    adamw_loop(w + block.begin, BlockMoment(old_mean, mean), BlockMoment(old_square, square), grad + block.begin, step,
               correction, weight_decay, block.size);
  };
  if (m.format == StateFormat::bf16) {
    update(HalfReader(m, block), HalfReader(v, block));
  } else {
    update(CodeReader<true>(m, block), CodeReader<false>(v, block));
  }
  BlockRandom random(layout, block);
  encode_block(m, mean, random, block);
  random.exchange_bytes();
  encode_block(v, square, random, block);
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(adamw);
template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, std::span<const DecayPart> parts) {
  const Span span(SpanKind::kernel, "adamw", {.bytes = 7.0 * sizeof(T) * element_count(parts)});
  const BiasCorrection correction(step);
  update_parts(parts, step, [&](auto i, auto count, const auto& scaled, double weight_decay) {
    SIMD_CALL(adamw, T)(w + i, m + i, v + i, grad + i, scaled, correction, weight_decay, count);
  });
}
template void adamw(float*, float*, float*, const float*, const AdamWStep&, std::span<const DecayPart>);
template void adamw(double*, double*, double*, const double*, const AdamWStep&, std::span<const DecayPart>);

HWY_EXPORT(adamw_block);
void adamw(float* w, const ReducedState& m, const ReducedState& v, const float* grad, const AdamWStep& step,
           std::span<const DecayPart> parts, const StateLayout& layout) {
  const std::int64_t n = element_count(layout);
  const Span span(SpanKind::kernel, "adamw", {.bytes = 12.0 * n + 4.0 * state_bytes(m.format, n)});
  const BiasCorrection correction(step);
  update_blocks(layout, parts, step, [&](const StateBlock& block, const AdamWStep& scaled, double weight_decay) {
    HWY_DYNAMIC_DISPATCH(adamw_block)(w, m, v, grad, scaled, correction, weight_decay, layout, block);
  });
}

}  // namespace tapeformer::kernels
#endif
