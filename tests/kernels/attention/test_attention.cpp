#include <malloc.h>

#include "core/sanitizers.h"
#include "tests/kernels/attention_test.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

// Every combination of masks, dropout and places for one size.
template <class T, class Each>
void check_shape(std::int64_t queries, std::int64_t keys, std::int64_t query_dim, std::int64_t value_dim,
                 const Each& each) {
  static Place place = Place::heads_apart;
  const auto n = static_cast<std::int32_t>(keys);
  const std::vector<std::int32_t> lengths{n, 0, (n + 1) / 2};
  for (bool causal : {false, true}) {
    for (double dropout : {0.0, 0.3}) {
      const AttentionShape shape = shape_of(3, 2, queries, keys, query_dim, value_dim, causal, dropout);
      check_against_reference<T>(shape, {}, place, each);
      check_against_reference<T>(shape, {.lengths = lengths}, place, each);
      place = static_cast<Place>((static_cast<int>(place) + 1) % 3);
    }
  }
}

template <class T>
void check_many_shapes() {
  const std::int64_t sizes[][4] = {{1, 1, 8, 8},      {5, 5, 3, 7},     {64, 64, 32, 32}, {65, 65, 16, 24},
                                   {130, 130, 8, 16}, {200, 77, 5, 4},  {1, 150, 64, 64}, {7, 150, 9, 9},
                                   {70, 133, 20, 20}, {150, 40, 12, 12}};
  for (const auto& [queries, keys, query_dim, value_dim] : sizes) {
    check_shape<T>(queries, keys, query_dim, value_dim, each_simd_target);
  }
}

}  // namespace

TEST_CASE("attention: values and gradients against the definition, under every instruction set" * long_test()) {
  check_many_shapes<float>();
  check_many_shapes<double>();
}

TEST_CASE_TEMPLATE("attention: few heads over many keys, where backward divides the keys into ranges", T, float,
                   double) {
  check_against_reference<T>(shape_of(1, 2, 30, 1100, 8, 12, false, 0.2), {.lengths = {1030}}, Place::packed);
  check_against_reference<T>(shape_of(2, 1, 600, 600, 8, 8, true, 0.1), {.lengths = {600, 300}}, Place::packed);
  check_against_reference<T>(shape_of(1, 1, 100, 1025, 4, 4, true), {}, Place::heads_apart);
  check_against_reference<T>(shape_of(1, 1, 700, 550, 4, 4, true), {}, Place::side_by_side);
}

TEST_CASE_TEMPLATE("attention: groups of query heads share a head of keys and values", T, float, double) {
  for (std::int64_t group : {2, 4}) {
    const auto check = [&](const AttentionShape& shape, const Masks& masks, Place place) {
      check_against_reference<T>(grouped(shape, group), masks, place, each_simd_target);
    };
    check(shape_of(2, 4, 70, 70, 8, 12, true), {}, Place::packed);
    check(shape_of(2, 4, 5, 90, 9, 9, false, 0.3), {.lengths = {90, 40}}, Place::side_by_side);
    check(shape_of(5, 16, 33, 40, 8, 8, true, 0.1), {}, Place::heads_apart);
    check(shape_of(1, 4, 100, 1100, 4, 8, true), {.lengths = {1030}}, Place::packed);  // ranges of keys
  }
}

TEST_CASE("attention: groups with bf16 products, with beta, and for any number of threads") {
  const AttentionShape shape = grouped(shape_of(1, 6, 130, 1100, 16, 16, true, 0.1), 3);
  check_against_reference<float>(shape, {}, Place::packed, each_bf16_product);
  check_beta<double>(grouped(shape_of(2, 4, 70, 90, 8, 8, true), 2), {.lengths = {20, 90}});
  check_beta<float>(shape, {.lengths = {600}});
  check_same_for_any_thread_count([&] { return Attention<float>(shape, {}, Place::packed).results(); });
}

TEST_CASE("attention with bf16 products: values and gradients against the definition, on every unit") {
  check_shape<float>(5, 5, 3, 7, each_bf16_product);
  check_shape<float>(65, 65, 16, 24, each_bf16_product);
  check_shape<float>(7, 80, 9, 40, each_bf16_product);
  check_against_reference<float>(grouped(shape_of(2, 4, 1, 1100, 8, 12, false), 2), {.lengths = {1030, 1100}},
                                 Place::heads_apart, each_bf16_product);
  check_against_reference<float>(shape_of(1, 2, 30, 1100, 8, 12, false, 0.2), {.lengths = {1030}}, Place::packed,
                                 each_bf16_product);
  check_against_reference<float>(shape_of(1, 1, 40, 90, 600, 40, true), {}, Place::packed, each_bf16_product);
  for_each_bf16_product([] {
    check_beta<float>(shape_of(2, 3, 70, 90, 8, 8, true), {.lengths = {20, 90}});
    check_beta<float>(shape_of(2, 1, 70, 1100, 8, 8, true), {.lengths = {600, 1090}});
  });
}

TEST_CASE("attention: gradients match finite differences") {
  Attention<double> a(shape_of(2, 2, 5, 7, 4, 3, true, 0.2), {.lengths = {6, 7}}, Place::side_by_side);
  a.forward();
  a.backward();
  check_finite_differences(a);
}

TEST_CASE("attention: gradients respect beta and do not change the memory between the heads") {
  check_beta<double>(shape_of(2, 3, 70, 90, 8, 8, true), {.lengths = {20, 90}});
  check_beta<double>(shape_of(2, 1, 70, 1100, 8, 8, true), {.lengths = {600, 1090}});
}

TEST_CASE("attention: a gradient that is not wanted is not touched, and the others are the same") {
  for (int only = 0; only < 3; ++only) {
    Attention<float> all(shape_of(1, 2, 9, 9, 8, 8, true), {}, Place::heads_apart), one = all;
    all.forward(), one.forward();
    all.backward();
    const auto wanted = [&](int which, Operand<float>& gradient) {
      return kernels::AttentionGradient<float>{only == which ? gradient.data() : nullptr, gradient.strides, 0};
    };
    kernels::attention_backward(wanted(0, one.dq), wanted(1, one.dk), wanted(2, one.dv), one.dout.data(),
                                one.dout.strides, one.o.data(), one.o.strides, one.log_sum_exp.data(), one.q.data(),
                                one.q.strides, one.k.data(), one.k.strides, one.v.data(), one.v.strides,
                                one.with_masks());
    if (only == 0) CHECK(one.dq.values == all.dq.values);
    if (only == 1) CHECK(one.dk.values == all.dk.values);
    if (only == 2) CHECK(one.dv.values == all.dv.values);
  }
}

TEST_CASE("attention: the same bits for any number of threads, for one head as for many") {
  for (const auto& shape : {shape_of(2, 3, 130, 130, 32, 32, true, 0.1), shape_of(1, 1, 64, 700, 64, 64, false),
                            shape_of(1, 1, 300, 300, 64, 64, true), shape_of(1, 4, 1, 500, 64, 64, true),
                            shape_of(1, 2, 130, 1300, 32, 32, true, 0.1), shape_of(1, 1, 2100, 2100, 8, 8, true)}) {
    const auto check = [&] {
      check_same_for_any_thread_count([&] { return Attention<float>(shape, {}, Place::packed).results(); });
    };
    check();
    const kernels::MatmulPrecisionScope scope(kernels::MatmulPrecision::medium);
    check();
  }
}

TEST_CASE("attention: large differences between scores do not overflow") {
  Attention<float> a(shape_of(1, 1, 3, 40, 1, 1, false), {}, Place::heads_apart);
  a.q.values = {300, -300, 0};
  for (int j = 0; j < 40; ++j) a.k.values[j] = static_cast<float>(j - 20), a.v.values[j] = static_cast<float>(j);
  a.forward();
  CHECK(a.o.values[0] == 39);
  CHECK(a.o.values[1] == 0);
  CHECK(a.o.values[2] == doctest::Approx(19.5));
  CHECK(a.log_sum_exp[0] == 300 * 19);
  CHECK(a.log_sum_exp[1] == 300 * 20);
  CHECK(a.log_sum_exp[2] == doctest::Approx(std::log(40.0)));
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // whose allocator mallinfo2 does not see
TEST_CASE("attention: the memory of backward grows linearly with the number of tokens, for any number of heads") {
  // Bytes in use of the C library's heap, including its mapped blocks.
  const auto heap_bytes = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  const int threads = thread_count();
  set_thread_count(1);  // then all of it is memory of this thread
  for (std::int64_t heads : {1, 3, 16}) {
    CAPTURE(heads);
    // By how much the memory that the thread keeps grows in a backward over so many tokens.
    const auto kept_after = [&](std::int64_t tokens) {
      Attention<float> a(shape_of(1, heads, tokens, tokens, 8, 8, true), {}, Place::packed);
      a.forward();
      const double before = heap_bytes();
      a.backward();
      return heap_bytes() - before;
    };
    // The memory for fewer tokens is there already, so each further 2048 tokens add the same amount.
    kept_after(2048);
    const double first = kept_after(4096), second = kept_after(6144);
    CHECK(first < 2048 * 4 * 200.0);
    CHECK(second < 1.1 * first + 4096);
  }
  set_thread_count(threads);
}
#endif
