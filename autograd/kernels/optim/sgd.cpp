#include "autograd/kernels/optim/sgd.h"

#include "autograd/kernels/optim/reduced_state-inl.h"
#include "autograd/kernels/optim/update_parts.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T, class V>
HWY_INLINE void sgd_loop(T* w, const V& v, const T* grad, const SgdStep& step, double weight_decay, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto set = [d](double value) SIMD_LAMBDA { return hn::Set(d, static_cast<T>(value)); };
  const auto gradient_scale = set(step.gradient_scale), decay = set(weight_decay);
  const auto momentum = set(step.momentum), lr = set(step.lr);
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto weight = load(d, w + i, n - i);
    auto update = hn::MulAdd(decay, weight, hn::Mul(load(d, grad + i, n - i), gradient_scale));
    if (step.momentum != 0) {
      const auto velocity = hn::MulAdd(momentum, v.load(d, i, n - i), update);
      v.store(d, velocity, i, n - i);
      update = step.nesterov ? hn::MulAdd(momentum, velocity, update) : velocity;
    }
    store(d, hn::NegMulAdd(lr, update, weight), w + i, n - i);
  }
}

template <class T>
void sgd(T* w, T* v, const T* grad, const SgdStep& step, double weight_decay, std::int64_t n) {
  sgd_loop(w, ArrayMoment<T>{v}, grad, step, weight_decay, n);
}

SIMD_FLOATS(sgd);

void sgd_block(float* w, const ReducedState& v, const float* grad, const SgdStep& step, double weight_decay,
               const StateLayout& layout, const StateBlock& block) {
  BlockNumbers velocity;
  const auto update = [&](const auto& before) SIMD_LAMBDA {
    sgd_loop(w + block.begin, BlockMoment(before, velocity), grad + block.begin, step, weight_decay, block.size);
  };
  with_reader(v, block, update);
  encode_block(v, velocity, BlockRandom(layout, block), block);
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(sgd);
template <class T>
void sgd(T* w, T* v, const T* grad, const SgdStep& step, std::span<const DecayPart> parts) {
  const Span span(SpanKind::kernel, "sgd",
                  {.bytes = (step.momentum != 0 ? 5.0 : 3.0) * sizeof(T) * element_count(parts)});
  update_parts(parts, step, [&](auto i, auto count, const auto& scaled, double weight_decay) {
    SIMD_CALL(sgd, T)(w + i, v == nullptr ? v : v + i, grad + i, scaled, weight_decay, count);
  });
}
template void sgd(float*, float*, const float*, const SgdStep&, std::span<const DecayPart>);
template void sgd(double*, double*, const double*, const SgdStep&, std::span<const DecayPart>);

HWY_EXPORT(sgd_block);
void sgd(float* w, const ReducedState& v, const float* grad, const SgdStep& step, std::span<const DecayPart> parts,
         const StateLayout& layout) {
  const std::int64_t n = element_count(layout);
  const Span span(SpanKind::kernel, "sgd", {.bytes = 12.0 * n + 2.0 * state_bytes(v.format, n)});
  update_blocks(layout, parts, step, [&](const StateBlock& block, const SgdStep& scaled, double weight_decay) {
    HWY_DYNAMIC_DISPATCH(sgd_block)(w, v, grad, scaled, weight_decay, layout, block);
  });
}

}  // namespace tapeformer::kernels
#endif
