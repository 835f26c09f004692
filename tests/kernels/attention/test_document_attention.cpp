// Attention where queries do not see the keys before their document.
#include "tests/kernels/attention_test.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

// key_begin of rows whose documents begin at the given keys and at key 0; query i stands at key i + keys − queries.
std::vector<std::int32_t> key_begin(const AttentionShape& shape, const std::vector<std::vector<std::int32_t>>& rows) {
  std::vector<std::int32_t> out;
  for (const std::vector<std::int32_t>& begins : rows) {
    for (std::int64_t i = 0; i < shape.queries; ++i) {
      std::int32_t first = 0;
      for (const std::int32_t begin : begins) {
        if (begin <= i + shape.keys - shape.queries) first = begin;
      }
      out.push_back(first);
    }
  }
  return out;
}

// The beginnings of documents of 1 to `longest` tokens. Half of the documents have one token.
std::vector<std::int32_t> ragged(std::int64_t keys, std::int64_t longest, std::uint64_t seed) {
  RandomStream random(RandomKey{.seed = seed});
  std::vector<std::int32_t> begins;
  for (std::int64_t at = 0; at < keys; at += random.below(2) ? 1 : 1 + random.below(longest)) {
    begins.push_back(static_cast<std::int32_t>(at));
  }
  return begins;
}

// Four rows: documents of many lengths; one document for the whole row; documents of one token; and beginnings at the
// edges of attention's blocks and next to them.
std::vector<std::int32_t> four_rows(const AttentionShape& shape) {
  std::vector<std::int32_t> edges;
  for (const std::int32_t edge : {63, 64, 65, 128, 191, 256, 511, 512, 513, 576}) {
    if (edge < shape.keys) edges.push_back(edge);
  }
  return key_begin(shape, {ragged(shape.keys, 30, 1), {}, ragged(shape.keys, 1, 2), edges});
}

template <class T>
void check_documents() {
  const std::int64_t sizes[][4] = {{1, 1, 4, 4},     {5, 5, 3, 7},     {40, 40, 32, 32},
                                   {65, 65, 16, 24}, {130, 130, 8, 8}, {300, 300, 5, 4},
                                   {1, 150, 64, 64}, {7, 150, 9, 9},   {70, 133, 20, 20}};
  Place place = Place::heads_apart;
  for (const auto& [queries, keys, query_dim, value_dim] : sizes) {
    const auto n = static_cast<std::int32_t>(keys);
    for (bool causal : {true, false}) {
      for (double dropout : {0.0, 0.3}) {
        const AttentionShape shape = shape_of(4, 2, queries, keys, query_dim, value_dim, causal, dropout);
        check_against_reference<T>(shape, {{}, four_rows(shape)}, place, each_simd_target);
        check_against_reference<T>(shape, {{n, (n + 1) / 2, n / 3, 0}, four_rows(shape)}, place, each_simd_target);
        place = static_cast<Place>((static_cast<int>(place) + 1) % 3);
      }
    }
  }
}

}  // namespace

TEST_CASE("attention, documents: values and gradients against the definition, under every instruction set" *
          long_test()) {
  check_documents<float>();
  check_documents<double>();
}

TEST_CASE("attention, documents, with bf16 products: values and gradients against the definition, on every unit") {
  for (const std::int64_t keys : {130, 600}) {
    const AttentionShape shape = shape_of(4, 1, keys, keys, 4, 4, true, 0.1);
    const auto n = static_cast<std::int32_t>(keys);
    check_against_reference<float>(shape, {{n, n - 80, 30, 0}, four_rows(shape)}, Place::heads_apart,
                                   each_bf16_product);
  }
  // Few queries, which see the last keys of many.
  check_against_reference<float>(shape_of(1, 1, 3, 1300, 4, 4, true), {.key_begin = {1250, 1250, 1251}}, Place::packed,
                                 each_bf16_product);
}

TEST_CASE_TEMPLATE("attention, documents: few heads over many keys, where backward divides the keys into ranges", T,
                   float, double) {
  for (bool causal : {true, false}) {
    const AttentionShape shape = shape_of(4, 1, 600, 600, 4, 4, causal, 0.1);
    check_against_reference<T>(shape, {{}, four_rows(shape)}, Place::packed);
    check_against_reference<T>(shape, {{600, 520, 30, 0}, four_rows(shape)}, Place::heads_apart);
  }
  const AttentionShape longer = shape_of(1, 1, 100, 1300, 4, 4, true);
  check_against_reference<T>(longer, {{}, key_begin(longer, {{1250}})}, Place::side_by_side);
}

TEST_CASE("attention, documents: key_begin of zeros gives the same bits as no key_begin") {
  for (const AttentionShape& shape : {shape_of(2, 3, 150, 150, 8, 8, true, 0.2), shape_of(2, 2, 3, 90, 8, 8, true),
                                      shape_of(1, 2, 70, 9, 8, 8, false)}) {
    const std::vector<std::int32_t> zeros(shape.batches * shape.queries, 0);
    Attention<float> plain(shape, {}, Place::packed), one(shape, {{}, zeros}, Place::packed);
    for (auto* a : {&plain, &one}) a->forward(), a->backward();
    // The memory between the heads holds NaN.
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    CHECK(same(one.o.values, plain.o.values));
    CHECK(same(one.log_sum_exp, plain.log_sum_exp));
    CHECK(same(one.dq.values, plain.dq.values));
    CHECK(same(one.dk.values, plain.dk.values));
    CHECK(same(one.dv.values, plain.dv.values));
  }
}

TEST_CASE("attention, documents: gradients respect beta and do not change the memory between the heads") {
  const AttentionShape many = shape_of(4, 3, 200, 200, 8, 8, true), few = shape_of(4, 1, 600, 600, 8, 8, true);
  check_beta<double>(many, {{20, 90, 200, 200}, four_rows(many)});
  check_beta<double>(few, {{}, four_rows(few)});
}

TEST_CASE("attention, documents: the same bits for any number of threads") {
  for (const AttentionShape& shape :
       {shape_of(4, 2, 130, 130, 32, 32, true, 0.1), shape_of(4, 1, 700, 700, 8, 8, true)}) {
    check_same_for_any_thread_count([&] {
      return Attention<float>(shape, {{}, four_rows(shape)}, Place::side_by_side).results();
    });
  }
}

TEST_CASE("attention, documents: blocks of keys that no query of a block sees are not computed") {
  // Two documents of 128 tokens. The keys of the first one are NaN, so any product with them would show.
  for (const std::int64_t heads : {1, 16}) {
    const AttentionShape shape = shape_of(1, heads, 256, 256, 8, 8, true);
    Attention<float> clean(shape, {{}, key_begin(shape, {{128}})}, Place::heads_apart), poisoned = clean;
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < 128; ++t) {
        std::fill_n(poisoned.k.row(0, h, t), 8, std::numeric_limits<float>::quiet_NaN());
        std::fill_n(poisoned.v.row(0, h, t), 8, std::numeric_limits<float>::quiet_NaN());
      }
    }
    for (auto* a : {&clean, &poisoned}) a->forward(), a->backward();
    for (const auto part :
         {&Attention<float>::o, &Attention<float>::dq, &Attention<float>::dk, &Attention<float>::dv}) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const float *got = (poisoned.*part).row(0, h, 128), *expected = (clean.*part).row(0, h, 128);
        const std::int64_t row = (clean.*part).strides.row;
        for (std::int64_t t = 0; t < 128; ++t) {
          REQUIRE(std::equal(got + t * row, got + t * row + 8, expected + t * row));
        }
      }
    }
  }
}

TEST_CASE("attention, documents: gradients match finite differences") {
  const AttentionShape shape = shape_of(2, 2, 5, 7, 4, 3, true, 0.2);
  Attention<double> a(shape, {{6, 7}, key_begin(shape, {{3, 4}, {5}})}, Place::side_by_side);
  a.forward();
  a.backward();
  check_finite_differences(a);
}
