// Attention of one query to a cache: compared with the definition in double.
#include "autograd/kernels/attention/cached_attention.h"

#include <type_traits>

#include "tests/kernels/attention_test.h"

using namespace tapeformer;

namespace {

// Keys or values as a cache stores them, and as the definition takes them.
template <class Stored>
std::vector<Stored> stored(const std::vector<float>& x) {
  if constexpr (std::is_same_v<Stored, float>) {
    return x;
  } else {
    std::vector<Stored> rounded(x.size());
    std::ranges::transform(x, rounded.begin(), kernels::round_to_bf16);
    return rounded;
  }
}

template <class Stored>
std::vector<float> attend_cached(Attention<float>& a) {
  const std::vector<Stored> k = stored<Stored>(a.k.values), v = stored<Stored>(a.v.values);
  kernels::cached_attention(a.o.data(), a.o.strides, a.q.data(), a.q.strides, k.data() + a.k.start, a.k.strides,
                            v.data() + a.v.start, a.v.strides, a.with_masks());
  return a.o.values;
}

template <class Stored>
void check_cached(const AttentionShape& shape, const Masks& masks, Place place) {
  CAPTURE(shape.keys);
  CAPTURE(shape.group);
  CAPTURE(sizeof(Stored));
  Attention<float> got(shape, masks, place);
  Attention<double> expected(shape, masks, place);
  const auto copy = [](const Operand<float>& from, Operand<double>& to) {
    to.values.assign(from.values.begin(), from.values.end());
  };
  copy(got.q, expected.q), copy(got.k, expected.k), copy(got.v, expected.v);
  reference(expected);
  const bool rounds = !std::is_same_v<Stored, float>;
  const kernels::MatmulPrecisionScope tolerance_of(rounds ? kernels::MatmulPrecision::medium
                                                          : kernels::MatmulPrecision::highest);
  for_each_simd_target([&] {
    attend_cached<Stored>(got);
    check_close("o", got.o, expected.o, shape, shape.heads, 1, shape.value_dim);
  });
  const int threads = thread_count();
  const std::vector<float> before = attend_cached<Stored>(got);
  for (const int other : {1, 3}) {
    set_thread_count(other);
    CHECK(attend_cached<Stored>(got) == before);
  }
  set_thread_count(threads);
}

template <class Stored>
void check_all_cached() {
  for (const std::int64_t keys : {1, 63, 256, 257, 700}) {
    for (const std::int64_t group : {1, 4}) {
      const AttentionShape shape = grouped(shape_of(2, 4, 1, keys, 40, 24, true), group);
      check_cached<Stored>(shape, {}, Place::heads_apart);
      const auto some = static_cast<std::int32_t>(keys / 2);
      check_cached<Stored>(shape, {.lengths = {static_cast<std::int32_t>(keys), some}}, Place::side_by_side);
      check_cached<Stored>(shape, {.key_begin = {some, 0}}, Place::packed);
    }
  }
}

}  // namespace

TEST_CASE("cached attention: agrees with the definition, for f32 and bf16, groups, masks, and parts of the keys") {
  check_all_cached<float>();
  check_all_cached<kernels::Bf16>();
}

TEST_CASE("cached attention: a query with a NaN gives NaN, and the others numbers") {
  for (const std::int64_t keys : {100, 257, 700}) {
    CAPTURE(keys);
    const auto some = static_cast<std::int32_t>(keys / 2);
    // Row 0 sees none of the first part of the 700 keys.
    Attention<float> a(shape_of(2, 4, 1, keys, 40, 24, true), {.lengths = {}, .key_begin = {some, 0}},
                       Place::side_by_side);
    for (const std::int64_t batch : {0, 1}) *a.q.row(batch, 2, 0) = NAN;
    for (const bool rounded : {false, true}) {
      const std::vector<float> o = rounded ? attend_cached<kernels::Bf16>(a) : attend_cached<float>(a);
      for (std::int64_t i = 0; i < 2 * 4 * 24; ++i) {
        REQUIRE(std::isnan(o[i]) == (i / 24 % 4 == 2));
      }
    }
  }
}

TEST_CASE("cached attention: it takes one query of each head") {
  CHECK(kernels::cached_attention_takes(shape_of(2, 4, 1, 5, 8, 8, true)));
  CHECK_FALSE(kernels::cached_attention_takes(shape_of(2, 4, 2, 5, 8, 8, true)));
  CHECK_FALSE(kernels::cached_attention_takes(shape_of(2, 4, 1, 5, 8, 8, true, 0.5)));
}
