#include <doctest/doctest.h>

#include <set>

#include "core/random.h"

using namespace tapeformer;

TEST_CASE("philox4x32-10: known answers of the Random123 library") {
  using Words = std::array<std::uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t f = 0xffffffff;
  CHECK(philox4x32({f, f, f, f}, {f, f}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random keys: a change in any field gives another sequence") {
  std::set<std::uint64_t> first;
  const RandomKey base{7, 3, 1, 5};
  for (RandomKey key :
       {base, RandomKey{8, 3, 1, 5}, RandomKey{7, 4, 1, 5}, RandomKey{7, 3, 2, 5}, RandomKey{7, 3, 1, 6}}) {
    first.insert(RandomStream(key).next_u64());
  }
  CHECK(first.size() == 5);
}

TEST_CASE("random stream: moments of uniform and normal, range of below") {
  RandomStream random(RandomKey{.seed = 1});
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(), z = random.normal();
    sum += u, squares += u * u, normal_sum += z, normal_squares += z * z;
  }
  CHECK(sum / n == doctest::Approx(0.5).epsilon(0.01));
  CHECK(squares / n == doctest::Approx(1.0 / 3).epsilon(0.01));
  CHECK(std::abs(normal_sum / n) < 0.01);
  CHECK(normal_squares / n == doctest::Approx(1.0).epsilon(0.02));
  std::array<int, 3> counts{};
  for (int i = 0; i < 3000; ++i) ++counts[random.below(3)];
  for (int count : counts) CHECK(std::abs(count - 1000) < 130);
}
