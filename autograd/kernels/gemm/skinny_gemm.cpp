#include "autograd/kernels/gemm/skinny_gemm.h"

#include <algorithm>

#include "autograd/kernels/gemm/bf16/bf16_unit_functions.h"
#include "autograd/kernels/scratch.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/error.h"
#include "core/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// How many vectors of sums are kept at a time: half of the registers.
constexpr int kSums = HWY_ARCH_X86 && HWY_MAX_BYTES < 64 ? 8 : 16;

#if HWY_TARGET == HWY_SCALAR
template <class D>
constexpr int kSumsAtOnce = 1;
template <class D>
HWY_INLINE void sums_of_lanes(D d, const hn::Vec<D>* v, hn::TFromD<D>* sums) {
  hn::StoreU(v[0], d, sums);
}
#else
template <class D>
constexpr int kSumsAtOnce = 16 / sizeof(hn::TFromD<D>);

// The sum of v's blocks of 16 bytes.
template <class D>
HWY_INLINE auto sum_of_blocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) <= 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// Sums of pairs of neighbours, in each block of 16 bytes: one pair of a, one of b, and so on.
template <class D>
HWY_INLINE hn::Vec<D> sums_of_pairs(D d, hn::Vec<D> a, hn::Vec<D> b) {
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}

// sums[i] = the sum of all lanes of v[i], for as many i as a block of 16 bytes has lanes: cheaper than one by one.
template <class D>
HWY_INLINE void sums_of_lanes(D d, const hn::Vec<D>* v, hn::TFromD<D>* sums) {
  using T = hn::TFromD<D>;
  const hn::CappedTag<T, 16 / sizeof(T)> block;
  if constexpr (sizeof(T) == 8) {
    hn::StoreU(sum_of_blocks(d, sums_of_pairs(d, v[0], v[1])), block, sums);
  } else {
    const hn::RepartitionToWide<D> wide;
    const auto low = hn::BitCast(wide, sums_of_pairs(d, v[0], v[1]));
    const auto high = hn::BitCast(wide, sums_of_pairs(d, v[2], v[3]));
    const auto both = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, low, high)),
                              hn::BitCast(d, hn::InterleaveUpper(wide, low, high)));
    hn::StoreU(sum_of_blocks(d, both), block, sums);
  }
}

#endif

// load() of numbers of the vector's type, or of bf16 that are widened to it.
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const hn::TFromD<D>* from, std::int64_t left) {
  return load(d, from, left);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const Bf16* from, std::int64_t left) {
  const hn::Rebind<Bf16, D> half;
  const hn::RebindToUnsigned<D> whole;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(whole, load(half, from, left))));
}

// c (M, N) = beta·c + alpha·(the dot products of M rows of a and N rows of b). Each dot product adds up in an order
// that depends on k alone, whatever M and N are.
template <int M, int N, class T, class In>
HWY_INLINE void dot_products(T* c, std::int64_t ldc, const In* a, std::int64_t lda, const In* b, std::int64_t ldb,
                             std::int64_t k, T alpha, T beta) {
  const hn::ScalableTag<T> d;
  constexpr int kBlock = kSumsAtOnce<decltype(d)>, kRoom = (M * N + kBlock - 1) / kBlock * kBlock;
  using V = hn::Vec<decltype(d)>;
  // The loops are unrolled whole, or the sums would be in memory.
  V sums[kRoom];
#pragma GCC unroll 16
  for (V& sum : sums) sum = hn::Zero(d);
  const auto add = [&](std::int64_t l, auto load_at) SIMD_LAMBDA {
    V right[N];
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      // This fetches the rows that follow, which a CPU does not foresee, in the order of memory: vectors of several
      // rows at one place of each would evict each other from L1 where rows are a power of two long.
      if constexpr (M == 1 && N > 1) __builtin_prefetch(b + N * ldb + l * N + j * lanes(d));
      right[j] = load_at(b + j * ldb + l);
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const V left = load_at(a + i * lda + l);
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) sums[i * N + j] = hn::MulAdd(left, right[j], sums[i * N + j]);
    }
  };
  const auto whole = [d](const auto* from) SIMD_LAMBDA { return load_as(d, from, lanes(d)); };
  std::int64_t l = 0;
  for (; l + lanes(d) <= k; l += lanes(d)) add(l, whole);
  if (l < k) add(l, [d, left = k - l](const auto* from) SIMD_LAMBDA { return load_as(d, from, left); });
  HWY_ALIGN T dots[kRoom];
#pragma GCC unroll 16
  for (int i = 0; i < kRoom; i += kBlock) sums_of_lanes(d, sums + i, dots + i);
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      T& to = c[i * ldc + j];
      to = beta == T{0} ? alpha * dots[i * N + j] : beta * to + alpha * dots[i * N + j];
    }
  }
}

// c (M, n) = beta·c + alpha·a (M, k)·bᵀ, b (n, k).
template <int M, class T, class In>
HWY_NOINLINE void times_rows(T* c, std::int64_t ldc, const In* a, std::int64_t lda, const In* b, std::int64_t ldb,
                             std::int64_t n, std::int64_t k, T alpha, T beta) {
  constexpr int kRows = M == 1 ? 8 : kSums / M;  // 8 sums are enough to never wait for an addition
  std::int64_t j = 0;
  for (; j + kRows <= n; j += kRows) {
    dot_products<M, kRows>(c + j, ldc, a, lda, b + j * ldb, ldb, k, alpha, beta);
  }
  for (; j < n; ++j) dot_products<M, 1>(c + j, ldc, a, lda, b + j * ldb, ldb, k, alpha, beta);
}

// times_rows for m rows of a, eight at a time.
template <class T, class In = T>
void skinny(T* c, std::int64_t ldc, const In* a, std::int64_t lda, const In* b, std::int64_t ldb, std::int64_t m,
            std::int64_t n, std::int64_t k, T alpha, T beta) {
  const auto rows = [&]<int M>(std::integral_constant<int, M>) {
    times_rows<M>(c, ldc, a, lda, b, ldb, n, k, alpha, beta);
    c += M * ldc;
    a += M * lda;
  };
  for (; m >= 8; m -= 8) rows(std::integral_constant<int, 8>());
  switch (m) {
    case 1:
      return rows(std::integral_constant<int, 1>());
    case 2:
      return rows(std::integral_constant<int, 2>());
    case 3:
      return rows(std::integral_constant<int, 3>());
    case 4:
      return rows(std::integral_constant<int, 4>());
    case 5:
      return rows(std::integral_constant<int, 5>());
    case 6:
      return rows(std::integral_constant<int, 6>());
    case 7:
      return rows(std::integral_constant<int, 7>());
  }
}

SIMD_FLOATS(skinny);
constexpr auto& skinny_bf16 = skinny<float, Bf16>;

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {
SIMD_EXPORT(skinny);

namespace {

template <class T, class B>
void check_layout(const MatrixView<T>& a, const MatrixView<B>& b) {
  check(!a.transposed && b.transposed, "skinny_gemm: expected a by rows and b transposed");
}

// c = beta·c + alpha·a·bᵀ by kernel(c, ldc, a, lda, b, ldb, m, n, k, alpha, beta) for parts of c that are worth a task.
template <class Kernel, class T, class In>
void by_parts(const Kernel& kernel, T* c, std::int64_t ldc, MatrixView<In> a, MatrixView<In> b, std::int64_t m,
              std::int64_t n, std::int64_t k, T alpha, T beta) {
  constexpr std::int64_t kPanel = 64;  // rows of a; a multiple of the eight that `skinny` takes at a time
  // Elements of b: they stay in cache, and take far longer than opening a loop.
  constexpr std::int64_t kChunk = 1 << 15;
  const std::int64_t width = std::max<std::int64_t>(32, (kChunk / std::max<std::int64_t>(1, k) + 31) / 32 * 32);
  const std::int64_t chunks = chunk_count(n, width), panels = chunk_count(m, kPanel);
  parallel_for(0, panels * chunks, 1, [&](std::int64_t part, std::int64_t) {
    const std::int64_t i = part % panels * kPanel, j = part / panels * width;
    kernel(c + i * ldc + j, ldc, a.data + i * a.ld, a.ld, b.data + j * b.ld, b.ld, std::min(kPanel, m - i),
           std::min(width, n - j), k, alpha, beta);
  });
}

}  // namespace

template <class T>
void skinny_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, T alpha, T beta) {
  check_layout(a, b);
  by_parts(SIMD_CALL(skinny, T), c, ldc, a, b, m, n, k, alpha, beta);
}
SIMD_INSTANTIATE(skinny_gemm);

void skinny_gemm(float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, float alpha, float beta) {
  check_layout(a, b);
  const std::int64_t distance = packed_depth(k);
  const Scratch<Bf16> rounded(m * distance);
  const Bf16Unit& unit = bf16_unit();
  unit.pack_rows(rounded.data(), nullptr, distance, {a.data, a.ld, true}, m, k);
  by_parts(unit.multiply_few_rows, c, ldc, {rounded.data(), distance}, b, m, n, k, alpha, beta);
}

HWY_EXPORT(skinny_bf16);
void multiply_few_rows_by_software(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const Bf16* b,
                                   std::int64_t ldb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                   float beta) {
  HWY_DYNAMIC_DISPATCH(skinny_bf16)(c, ldc, a, lda, b, ldb, m, n, k, alpha, beta);
}

}  // namespace tapeformer::kernels
#endif
