#include "autograd/kernels/elementwise/dropout.h"

#include "autograd/kernels/simd/philox-inl.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// out and x are the elements first to first + n − 1 of the sequence; first is a multiple of 4.
template <class T>
void dropout(T* out, const T* x, double p, const RandomKey& key, std::int64_t first, T beta, std::int64_t n) {
  constexpr std::int64_t kWords = 512;  // drawn at a time; they fit into the L1 cache
  alignas(64) std::uint32_t words[kWords];
  const std::uint32_t threshold = dropout_threshold(p);
  const T factor = static_cast<T>(1 / (1 - p));
  const auto drop = [threshold, factor](auto d, auto x, auto word) SIMD_LAMBDA {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto wide = [&]() SIMD_LAMBDA {
      if constexpr (sizeof(T) == 4)
        return word;
      else
        return hn::PromoteTo(du, word);
    }();
    const auto dropped = hn::RebindMask(d, hn::Lt(wide, hn::Set(du, threshold)));
    return hn::IfThenZeroElse(dropped, hn::Mul(x, hn::Set(d, factor)));
  };
  for (std::int64_t i = 0; i < n; i += kWords) {
    const std::int64_t count = std::min(kWords, n - i);
    philox_words(words, key, (first + i) / 4, (count + 3) / 4);
    map(out + i, beta, count, drop, x + i, words);
  }
}

SIMD_FLOATS(dropout);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(dropout);
template <class T>
void dropout(T* out, const T* x, double p, const RandomKey& key, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "dropout", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) {
    SIMD_CALL(dropout, T)(out + i, x + i, p, key, i, beta, end - i);
  });
}
SIMD_INSTANTIATE(dropout);

}  // namespace tapeformer::kernels
#endif
