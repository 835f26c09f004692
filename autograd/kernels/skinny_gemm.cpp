#include "autograd/kernels/skinny_gemm.h"

#include "autograd/kernels/simd.h"
#include "core/error.h"
#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "autograd/kernels/skinny_gemm.cpp"
#include "hwy/foreach_target.h"
// Once per target, so after it.
#include "autograd/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// Vectors of sums that are worth keeping at a time: half of the registers.
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

// The sum of the parts of v that are a block of 16 bytes long each.
template <class D>
HWY_INLINE auto sum_of_blocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) <= 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// In each block of the result stand the sums of a's and of b's pairs of neighbours, in turn.
template <class D>
HWY_INLINE hn::Vec<D> sums_of_pairs(D d, hn::Vec<D> a, hn::Vec<D> b) {
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}

// sums[0 … n), n one block's lanes: the sums of all lanes of v[0 … n). Cheaper than one by one.
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

// c (M, N) = beta·c + alpha·(the dot products of M rows of a and N rows of b)
template <int M, int N, class T>
HWY_INLINE void dot_products(T* c, std::int64_t ldc, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                             std::int64_t k, T alpha, T beta) {
  // For one row, two sums that take turns: a sum alone would wait for its own last addition.
  constexpr int kTurns = M == 1 ? 2 : 1;
  const hn::ScalableTag<T> d;
  constexpr int kBlock = kSumsAtOnce<decltype(d)>, kRoom = (M * N + kBlock - 1) / kBlock * kBlock;
  using V = hn::Vec<decltype(d)>;
  V sums[kTurns][kRoom];
  for (auto& turn : sums) {
    for (V& sum : turn) sum = hn::Zero(d);
  }
  const auto add = [&](std::int64_t l, V* to, auto load_at) SIMD_LAMBDA {
    V right[N];
    for (int j = 0; j < N; ++j) right[j] = load_at(b + j * ldb + l);
    for (int i = 0; i < M; ++i) {
      const V left = load_at(a + i * lda + l);
      for (int j = 0; j < N; ++j) to[i * N + j] = hn::MulAdd(left, right[j], to[i * N + j]);
    }
  };
  const auto whole = [d](const T* from) SIMD_LAMBDA { return hn::LoadU(d, from); };
  std::int64_t l = 0;
  for (; l + kTurns * lanes(d) <= k; l += kTurns * lanes(d)) {
    for (int turn = 0; turn < kTurns; ++turn) add(l + turn * lanes(d), sums[turn], whole);
  }
  for (; l < k; l += lanes(d)) {
    add(l, sums[0], [d, left = k - l](const T* from) SIMD_LAMBDA { return load(d, from, left); });
  }
  if (kTurns == 2) {
    for (int i = 0; i < kRoom; ++i) sums[0][i] = hn::Add(sums[0][i], sums[kTurns - 1][i]);
  }
  HWY_ALIGN T dots[kRoom];
  for (int i = 0; i < kRoom; i += kBlock) sums_of_lanes(d, sums[0] + i, dots + i);
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      T& to = c[i * ldc + j];
      to = beta == T{0} ? alpha * dots[i * N + j] : beta * to + alpha * dots[i * N + j];
    }
  }
}

// c (M, n) = beta·c + alpha·a (M, k)·bᵀ, b (n, k). Every element is the same sum wherever n begins and ends.
template <int M, class T>
HWY_NOINLINE void times_rows(T* c, std::int64_t ldc, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                             std::int64_t n, std::int64_t k, T alpha, T beta) {
  constexpr int kRows = M == 1 ? 4 : kSums / M;
  std::int64_t j = 0;
  for (; j + kRows <= n; j += kRows) {
    dot_products<M, kRows>(c + j, ldc, a, lda, b + j * ldb, ldb, k, alpha, beta);
  }
  for (; j < n; ++j) dot_products<M, 1>(c + j, ldc, a, lda, b + j * ldb, ldb, k, alpha, beta);
}

// times_rows for m rows of a, eight at a time.
template <class T>
void skinny(T* c, std::int64_t ldc, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, std::int64_t m,
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

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {
SIMD_EXPORT(skinny);

template <class T>
void skinny_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, T alpha, T beta) {
  check(!a.transposed && b.transposed, "skinny_gemm: takes rows of a and rows of b");
  constexpr std::int64_t kChunk = 1 << 15;  // elements of b: many times what opening a parallel loop takes
  const std::int64_t columns = (kChunk / std::max<std::int64_t>(1, k) + 31) / 32 * 32;
  parallel_for(0, n, std::max<std::int64_t>(columns, 32), [&](std::int64_t j, std::int64_t end) {
    SIMD_CALL(skinny, T)(c + j, ldc, a.data, a.ld, b.data + j * b.ld, b.ld, m, end - j, k, alpha, beta);
  });
}
SIMD_INSTANTIATE(skinny_gemm);

}  // namespace tapeformer::kernels
#endif
