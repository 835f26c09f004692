#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "autograd/kernels/elementwise/bf16_numbers.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/gemm/q8/q8_functions.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

std::atomic<bool> portable = false;

// The product with T as the type of b, which is made for some of its rows at a time: they stay in the cache.
template <class T>
void multiply_dequantized(float* c, std::int64_t ldc, const float* a, std::int64_t lda, const Q8Rows& b, std::int64_t m,
                          std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kElements = 1 << 21;
  const std::int64_t parts = chunk_count(n * k, kElements), most = chunk_count(n, parts);
  const Scratch<T> memory(most * k);
  for (std::int64_t first = 0; first < n; first += most) {
    const std::int64_t columns = std::min(most, n - first);
    parallel_for(0, columns, chunk_count(1 << 14, k), [&](std::int64_t begin, std::int64_t end) {
      dequantize_q8(memory.data() + begin * k, b.from((first + begin) * k), (end - begin) * k);
    });
    gemm(c + first, ldc, MatrixView<float>{a, lda}, MatrixView<T>{memory.data(), k, true}, m, columns, k, 1.0F, 0.0F);
  }
}

}  // namespace

void force_portable_int8(bool on) { portable.store(on, std::memory_order_relaxed); }
bool uses_avx512_vnni() { return has_avx512_vnni() && !portable.load(std::memory_order_relaxed); }

void quantize_q8(const Q8Rows& to, const float* x, std::int64_t n) {
  for (std::int64_t block = 0; block < n / kQ8Block; ++block) {
    const float* const from = x + block * kQ8Block;
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < kQ8Block; ++i) {
      largest = std::max(largest, std::abs(from[i]));
      finite = finite && std::isfinite(from[i]);
    }
    const float d = largest / 127, inverse = d > 0 ? 1 / d : 0;
    const F16 scale = round_to_f16(d);
    check(finite, "q8_0: a value is not a finite number");
    check((scale & 0x7FFF) < 0x7C00, "a value is beyond the range of Q8_0: ", largest);
    to.scales[block] = scale;
    for (std::int64_t i = 0; i < kQ8Block; ++i) {
      to.values[block * kQ8Block + i] = static_cast<std::int8_t>(std::round(from[i] * inverse));
    }
  }
}

void dequantize_q8(Bf16* to, const Q8Rows& x, std::int64_t n) {
  constexpr std::int64_t kPart = 32 * kQ8Block;
  float part[kPart];
  for (std::int64_t first = 0; first < n; first += kPart) {
    const std::int64_t count = std::min(kPart, n - first);
    dequantize_q8(part, x.from(first), count);
    round_all_to_bf16(to + first, part, count);
  }
}

void q8_skinny_gemm(float* c, std::int64_t ldc, const float* a, std::int64_t lda, const Q8Rows& b, std::int64_t m,
                    std::int64_t n, std::int64_t k) {
  // Elements of b: they stay in cache, and take far longer than opening a loop.
  constexpr std::int64_t kChunk = 1 << 16;
  const Scratch<std::int8_t> values(m * k);
  const Scratch<float> scales(m * k / kQ8Block);
  const auto left = [&](std::int64_t row) {
    return Q8Left{values.data() + row * k, scales.data() + row * (k / kQ8Block)};
  };
  for (std::int64_t i = 0; i < m; ++i) quantize_left(left(i), a + i * lda, k);
  MultiplyQ8Row* const multiply = uses_avx512_vnni() ? multiply_q8_row_avx512 : multiply_q8_row;
  const std::int64_t width = std::max<std::int64_t>(32, chunk_count(kChunk / std::max<std::int64_t>(1, k), 32) * 32);
  parallel_for(0, n, width, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kTile = 8;  // rows of b, which the rows of a find in L1
    const std::int64_t step = m == 1 ? end - begin : kTile;
    for (std::int64_t j = begin; j < end; j += step) {
      for (std::int64_t i = 0; i < m; ++i) {
        multiply(c + i * ldc + j, left(i), b.from(j * k), std::min(step, end - j), k);
      }
    }
  });
}

void q8_gemm(float* c, std::int64_t ldc, const float* a, std::int64_t lda, const Q8Rows& b, std::int64_t m,
             std::int64_t n, std::int64_t k) {
  if (m == 0 || n == 0) return;
  const std::string name = is_profiling() ? str_cat("gemm ", m, "x", n, "x", k, " NT q8_0") : std::string();
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Span span(SpanKind::kernel, name.c_str(), {.flops = flops});
  if (m <= kFewRows || BatchInvariant::is_on()) return q8_skinny_gemm(c, ldc, a, lda, b, m, n, k);
  if (rounds_to_bf16(MatmulPrecisionScope::current())) {
    return multiply_dequantized<Bf16>(c, ldc, a, lda, b, m, n, k);
  }
  multiply_dequantized<float>(c, ldc, a, lda, b, m, n, k);
}

}  // namespace tapeformer::kernels
