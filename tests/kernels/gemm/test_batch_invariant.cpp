// Under BatchInvariant a row of a result has the same bits whatever other rows there are, and however it is padded.
#include "autograd/kernels/gemm/batch_invariant.h"

#include "tests/kernels/attention_test.h"
#include "tests/kernels/gemm_test.h"

using namespace tapeformer;
using kernels::BatchInvariant;
using kernels::MatrixView;

namespace {

constexpr std::int64_t kRows = 150, kColumns = 70, kInner = 301;

// The first m rows of a (kRows, kInner)·b, with operands stored transposed or not.
template <class T>
Array<T> first_rows(std::int64_t m, bool a_transposed, bool b_transposed) {
  const Array<T> values = random_array<T>(kRows * kInner, 1), b = random_array<T>(kInner * kColumns, 2);
  Array<T> a(kRows * kInner);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t p = 0; p < kInner; ++p) a[a_transposed ? p * kRows + i : i * kInner + p] = values[i * kInner + p];
  }
  Array<T> c(m * kColumns);
  const MatrixView<T> left{a, a_transposed ? kRows : kInner, a_transposed};
  kernels::gemm<T>(c, kColumns, left, {b, b_transposed ? kInner : kColumns, b_transposed}, m, kColumns, kInner, 1, 0);
  return c;
}

template <class T>
bool begins_with(const Array<T>& all, const Array<T>& part) {
  return std::memcmp(all.data(), part.data(), part.size() * sizeof(T)) == 0;
}

// The output for the last query. The call has the last `queries` of 20 queries and `keys` keys; those from `seen` on
// are padding. With a window, each query sees so many keys up to its position at most.
template <class T>
std::vector<T> attention_of_last_query(std::int64_t queries, std::int64_t keys, std::int32_t seen, bool causal,
                                       std::int64_t window = 0) {
  constexpr std::int64_t kQueries = 20, kDim = 24;
  const std::vector<T> q = random_values<T>(kQueries * kDim, 1), kv = random_values<T>(2 * 400 * kDim, 2);
  const T* const k = kv.data();
  const T* const v = k + 400 * kDim;
  AttentionShape shape = shape_of(1, 1, queries, keys, kDim, kDim, causal);
  if (!causal) shape.key_lengths = &seen;
  std::vector<std::int32_t> key_begin;
  for (std::int64_t i = 0; window > 0 && i < queries; ++i) {
    key_begin.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(i + 1 + keys - queries - window, 0)));
  }
  if (window > 0) shape.key_begin = key_begin.data();
  const AttentionStrides strides{0, kDim, 0};
  std::vector<T> o(queries * kDim), log_sum_exp(queries);
  kernels::attention_forward(o.data(), strides, log_sum_exp.data(), q.data() + (kQueries - queries) * kDim, strides, k,
                             strides, v, strides, shape);
  return {o.end() - kDim, o.end()};
}

template <class T>
void check_attention() {
  const BatchInvariant scope;
  for (std::int32_t seen : {1, 7, 16, 33, 300}) {
    CAPTURE(seen);
    const std::vector<T> alone = attention_of_last_query<T>(1, seen, seen, false);
    for (std::int64_t queries : {1, 3, 8, 9, 20}) {
      for (std::int64_t padding : {0, 1, 15, 90}) {
        CHECK(attention_of_last_query<T>(queries, seen + padding, seen, false) == alone);
      }
      // The last of several causal queries sees all keys, as with a cache or without one.
      CHECK(attention_of_last_query<T>(queries, seen, seen, true) == alone);
    }
  }
}

template <class T>
void check_attention_of_windows() {
  const BatchInvariant scope;
  for (std::int64_t window : {1, 13, 40, 150, 270}) {
    CAPTURE(window);
    for (std::int32_t keys : {33, 261, 290, 400}) {
      CAPTURE(keys);
      const std::vector<T> alone = attention_of_last_query<T>(1, keys, keys, true, window);
      for (std::int64_t queries : {3, 8, 9, 20}) {
        CHECK(attention_of_last_query<T>(queries, keys, keys, true, window) == alone);
      }
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("batch invariant: gemm gives a row the same bits, however many rows there are", T, float, double) {
  for_each_simd_target([] {
    for (int bits = 0; bits < 4; ++bits) {
      CAPTURE(bits);
      const BatchInvariant scope;
      const Array<T> all = first_rows<T>(kRows, bits & 1, bits & 2);
      for (std::int64_t m : {1, 2, 3, 7, 8, 9, 16, 64, 65, 149}) {
        CAPTURE(m);
        CHECK(begins_with(all, first_rows<T>(m, bits & 1, bits & 2)));
      }
      check_same_for_any_thread_count([&] { return first_rows<T>(kRows, bits & 1, bits & 2); });
    }
  });
}

TEST_CASE("batch invariant: gemm keeps its contract for every transposition and beta") {
  const BatchInvariant scope;
  for (int bits = 0; bits < 4; ++bits) {
    check_gemm<float>(65, 31, 130, bits & 1, bits & 2, 1, 0, 3);
    check_gemm<double>(9, 40, 17, bits & 1, bits & 2, -0.5, 1, 1);
    check_gemm<float>(1, 5, 0, bits & 1, bits & 2, 1, 0.25, 0);
  }
}

TEST_CASE("batch invariant: gemm_batched gives a product the same bits alone and among many") {
  constexpr std::int64_t kCount = 12, kM = 9, kN = 40, kK = 50;
  const Array<float> a = random_array<float>(kCount * kM * kK, 1), b = random_array<float>(kCount * kN * kK, 2);
  std::vector<std::int64_t> a_at, b_at, c_at;
  for (std::int64_t i = 0; i < kCount; ++i) a_at.push_back(i * kM * kK), b_at.push_back(i * kN * kK);
  for (std::int64_t i = 0; i < kCount; ++i) c_at.push_back(i * kM * kN);
  const auto products = [&](std::int64_t count, std::int64_t m) {
    Array<float> c(kCount * kM * kN, 0);
    kernels::gemm_batched<float>(c, c_at.data(), kN, {a, kK}, a_at.data(), {b, kN}, b_at.data(), count, m, kN, kK, 1,
                                 0);
    return c;
  };
  const BatchInvariant scope;
  const int before = thread_count();
  for (int threads : {1, 3}) {
    set_thread_count(threads);
    const Array<float> all = products(kCount, kM), one = products(1, 1);
    CHECK(std::memcmp(all.data(), one.data(), kN * sizeof(float)) == 0);
  }
  set_thread_count(before);
}

TEST_CASE_TEMPLATE("batch invariant: attention gives a query the same bits, however many queries and padded keys", T,
                   float, double) {
  check_attention<T>();
}

TEST_CASE_TEMPLATE("batch invariant: attention to windows gives a query the same bits, however many queries", T, float,
                   double) {
  for_each_simd_target([] { check_attention_of_windows<T>(); });
}

TEST_CASE("batch invariant: attention with bf16 products, on every unit") {
  for_each_bf16_product([] {
    check_attention<float>();
    check_attention_of_windows<float>();
  });
}

TEST_CASE("batch invariant: the scope ends, and may be switched off inside") {
  CHECK_FALSE(BatchInvariant::is_on());
  {
    const BatchInvariant on;
    CHECK(BatchInvariant::is_on());
    {
      const BatchInvariant off(false);
      CHECK_FALSE(BatchInvariant::is_on());
    }
    CHECK(BatchInvariant::is_on());
  }
  CHECK_FALSE(BatchInvariant::is_on());
}
