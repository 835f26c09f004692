#include "autograd/kernels/optim/reduced_state.h"

#include "autograd/kernels/optim/reduced_state-inl.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

void decode_range(float* out, const ReducedState& state, const StateRange& range, std::int64_t first,
                  std::int64_t count) {
  const hn::ScalableTag<float> d;
  for (const std::int64_t end = first + count; first < end;) {
    const std::int64_t index = first / kStateBlock, n = std::min(end, (index + 1) * kStateBlock) - first;
    const StateBlock block{range.begin + first, range.state_begin + first, n, range.first_block + index};
    with_reader(state, block, [&](const auto& reader) SIMD_LAMBDA {
      for (std::int64_t i = 0; i < n; i += lanes(d)) store(d, reader.load(d, i, n - i), out + i, n - i);
    });
    out += n;
    first += n;
  }
}

void accumulate_block(const ReducedState& m, const float* grad, float momentum, float scale, const StateLayout& layout,
                      const StateBlock& block) {
  const hn::ScalableTag<float> d;
  BlockNumbers numbers;
  with_reader(m, block, [&](const auto& reader) SIMD_LAMBDA {
    for (std::int64_t i = 0; i < block.size; i += lanes(d)) {
      const auto gradient = hn::Mul(hn::Set(d, scale), load(d, grad + block.begin + i, block.size - i));
      const auto before = reader.load(d, i, block.size - i);
      hn::Store(hn::MulAdd(hn::Set(d, momentum), before, gradient), d, numbers.values + i);
    }
  });
  encode_block(m, numbers, BlockRandom(layout, block), block);
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

HWY_EXPORT(decode_range);
void decode_state(float* out, const ReducedState& state, const StateRange& range, std::int64_t first,
                  std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(decode_range)(out, state, range, first, count);
}

HWY_EXPORT(accumulate_block);
void accumulate_momentum(const ReducedState& m, const float* grad, float momentum, float scale,
                         const StateLayout& layout) {
  const std::int64_t n = element_count(layout);
  const Span span(SpanKind::kernel, "accumulate_momentum", {.bytes = 4.0 * n + 2.0 * state_bytes(m.format, n)});
  for_each_block(layout, [&](const StateBlock& block) {
    HWY_DYNAMIC_DISPATCH(accumulate_block)(m, grad, momentum, scale, layout, block);
  });
}

}  // namespace tapeformer::kernels
#endif
