#include "autograd/kernels/rows/cross_entropy.h"

#include <cmath>

#include "autograd/kernels/rows/softmax-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// With s = log_sum_exp, log p_v = logits_v − s: loss = s − (1 − ε)·logits_target − ε·mean(logits), where the
// row's shift is subtracted from all of them first, so that large logits lose no digits.
template <class T>
void cross_entropy_forward(T* loss, T* log_sum_exp, const T* logits, const std::int32_t* targets, std::int64_t rows,
                           std::int64_t vocab, double smoothing, double z_loss) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row, logits += vocab) {
    const T shift = shift_of_row(logits, vocab);
    const double log_sum = std::log(sum_of_exp(logits, shift, vocab));
    log_sum_exp[row] = static_cast<T>(shift + log_sum);
    loss[row] = 0;
    if (targets[row] < 0) continue;
    double expected = (1 - smoothing) * (static_cast<double>(logits[targets[row]]) - shift);
    if (smoothing > 0) {
      const auto add = [&](std::int64_t j, auto& sums) SIMD_LAMBDA {
        sums[0] = hn::Add(sums[0], hn::Sub(load(d, logits + j, vocab - j, shift), hn::Set(d, shift)));
      };
      expected += smoothing / vocab * sum_vectors<1>(d, vocab, add)[0];
    }
    const double z = shift + log_sum;
    loss[row] = static_cast<T>(z_loss > 0 ? log_sum - expected + z_loss * z * z : log_sum - expected);
  }
}

template <class T>
void cross_entropy_backward(T* dlogits, const T* dloss, const T* logits, const T* log_sum_exp,
                            const std::int32_t* targets, std::int64_t rows, std::int64_t vocab, double smoothing,
                            T beta, double z_loss) {
  for (std::int64_t row = 0; row < rows; ++row, dlogits += vocab, logits += vocab) {
    if (targets[row] < 0) {
      map(dlogits, beta, vocab, [](auto d) SIMD_LAMBDA { return hn::Zero(d); });
      continue;
    }
    const T scale = dloss[row], shift = log_sum_exp[row], uniform = static_cast<T>(smoothing / vocab);
    const T of_p = z_loss > 0 ? static_cast<T>(1 + 2 * z_loss * shift) : T{1};
    const auto gradient = [=](auto d, auto x) SIMD_LAMBDA {
      const auto p = exp(d, hn::Sub(x, hn::Set(d, shift)));
      return hn::Mul(hn::MulSub(p, hn::Set(d, of_p), hn::Set(d, uniform)), hn::Set(d, scale));
    };
    map(dlogits, beta, vocab, gradient, logits);
    dlogits[targets[row]] -= static_cast<T>(scale * (1 - smoothing));
  }
}

SIMD_FLOATS(cross_entropy_forward);
SIMD_FLOATS(cross_entropy_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(cross_entropy_forward);
template <class T>
void cross_entropy_forward(T* loss, T* log_sum_exp, const T* logits, const std::int32_t* targets, std::int64_t rows,
                           std::int64_t vocab, double smoothing, double z_loss) {
  const Span span(SpanKind::kernel, "cross_entropy_forward", {.bytes = 1.0 * sizeof(T) * rows * vocab});
  parallel_for(0, rows, rows_per_chunk(vocab), [&](auto row, auto end) {
    SIMD_CALL(cross_entropy_forward, T)
    (loss + row, log_sum_exp + row, logits + row * vocab, targets + row, end - row, vocab, smoothing, z_loss);
  });
}
SIMD_INSTANTIATE(cross_entropy_forward);

SIMD_EXPORT(cross_entropy_backward);
template <class T>
void cross_entropy_backward(T* dlogits, const T* dloss, const T* logits, const T* log_sum_exp,
                            const std::int32_t* targets, std::int64_t rows, std::int64_t vocab, double smoothing,
                            T beta, double z_loss) {
  const Span span(SpanKind::kernel, "cross_entropy_backward", {.bytes = 2.0 * sizeof(T) * rows * vocab});
  parallel_for(0, rows, rows_per_chunk(vocab), [&](auto row, auto end) {
    SIMD_CALL(cross_entropy_backward, T)
    (dlogits + row * vocab, dloss + row, logits + row * vocab, log_sum_exp + row, targets + row, end - row, vocab,
     smoothing, beta, z_loss);
  });
}
SIMD_INSTANTIATE(cross_entropy_backward);

template <class T>
void cross_entropy_in_place(T* loss, T* log_sum_exp, T* logits, const T* dloss, const std::int32_t* targets,
                            std::int64_t rows, std::int64_t vocab, double smoothing, double z_loss) {
  const Span span(SpanKind::kernel, "cross_entropy_in_place", {.bytes = 2.0 * sizeof(T) * rows * vocab});
  parallel_for(0, rows, rows_per_chunk(vocab), [&](auto row, auto end) {
    for (; row < end; ++row) {
      T* const z = logits + row * vocab;
      SIMD_CALL(cross_entropy_forward, T)(loss + row, log_sum_exp + row, z, targets + row, 1, vocab, smoothing, z_loss);
      SIMD_CALL(cross_entropy_backward, T)
      (z, dloss + row, z, log_sum_exp + row, targets + row, 1, vocab, smoothing, T{0}, z_loss);
    }
  });
}
SIMD_INSTANTIATE(cross_entropy_in_place);

}  // namespace tapeformer::kernels
#endif
