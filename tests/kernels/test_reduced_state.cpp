#include <functional>

#include "autograd/kernels/optim/adamw.h"
#include "autograd/kernels/optim/sgd.h"
#include "tests/kernels/reduced_state_test.h"

using namespace tapeformer;

namespace {

const std::vector<std::int64_t> kSizes{1, 7, 16, 255, 256, 257, 1000, 3, 20000};

// Numbers of very different magnitudes, also within a block; some are 0, some subnormal.
Array<float> wide_numbers(std::int64_t n, std::uint64_t stream, bool has_sign) {
  Array<float> numbers(n);
  RandomStream random(RandomKey{.seed = 2, .stream = stream});
  double scale = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 100 == 0) scale = std::pow(10, 60 * random.uniform() - 40);
    const double spread = std::pow(10, -12 * random.uniform() * random.uniform());
    numbers[i] = static_cast<float>(scale * spread * (has_sign ? random.normal() : random.uniform()));
    if (random.below(20) == 0 || numbers[i] == 0) numbers[i] = 0;  // no −0, to which adding 0 gives 0
  }
  return numbers;
}

PlainState state_of(StateFormat format, bool has_sign, const PlainLayout& plain) {
  return {format, has_sign, plain.state_elements(), plain.blocks};
}

// A state that holds about these numbers.
PlainState filled_state(StateFormat format, const PlainLayout& plain, const Array<float>& numbers, bool has_sign) {
  PlainState state = state_of(format, has_sign, plain);
  plain_encode_all(plain, plain.layout(1), state, numbers, 0);
  return state;
}

const StateFormat kFormats[] = {StateFormat::bf16, StateFormat::int8};

}  // namespace

TEST_CASE("reduced state: numbers are rounded to the codes and scales of the definition, and read back") {
  const PlainLayout plain(kSizes);
  const StateLayout layout = plain.layout();
  for_each_simd_target([&] {
    for (const StateFormat format : kFormats) {
      for (const bool has_sign : {true, false}) {
        CAPTURE(static_cast<int>(format));
        CAPTURE(has_sign);
        const Array<float> numbers = wide_numbers(plain.elements, 3, has_sign);
        PlainState state = state_of(format, has_sign, plain), expected = state;
        plain_encode_all(plain, layout, expected, numbers, 0);
        accumulate_momentum(state.reduced(), numbers, 0, 1, layout);
        CHECK(state.codes == expected.codes);
        CHECK(state.halves == expected.halves);
        CHECK(state.scales == expected.scales);

        const Array<float> decoded = plain_numbers(plain, expected);
        for (const StateRange& range : plain.ranges) {
          for (const std::int64_t first : {std::int64_t{0}, range.size / 3, range.size - 1}) {
            for (const std::int64_t count : {std::int64_t{1}, (range.size - first) / 2, range.size - first}) {
              Array<float> read(count);
              decode_state(read, state.reduced(), range, first, count);
              for (std::int64_t i = 0; i < count; ++i) REQUIRE(read[i] == decoded[range.begin + first + i]);
            }
          }
        }
      }
    }
  });
}

TEST_CASE("reduced state: what is read back is near what was written, from the largest number of a block down") {
  const PlainLayout plain({256});
  for (const bool has_sign : {true, false}) {
    PlainState state = state_of(StateFormat::int8, has_sign, plain);
    Array<float> numbers(plain.elements, 0);
    // Each is √2 times smaller than the one before; the last is smaller by 2^-11, or without a sign by 2^-27.
    const int count = has_sign ? 22 : 54;
    for (int i = 0; i < count; ++i) numbers[i] = static_cast<float>(3 * std::pow(2, -0.5 * i));
    accumulate_momentum(state.reduced(), numbers, 0, 1, plain.layout());
    for (int i = 0; i < count; ++i) CHECK(std::abs(state.number(32 + i, 0) / numbers[i] - 1) <= 0.13);
    for (int i = count; i < 256; ++i) CHECK(state.codes[32 + i] == 0);
  }
}

TEST_CASE("reduced state: the mean of what is read back over many seeds is the number, within 4 sigma") {
  const PlainLayout plain({256});
  constexpr int kSeeds = 4000;
  for (const StateFormat format : kFormats) {
    for (const bool has_sign : {true, false}) {
      CAPTURE(static_cast<int>(format));
      CAPTURE(has_sign);
      Array<float> numbers = random_array<float>(plain.elements, 4, has_sign ? -1 : 1e-3, 1);
      // With a sign, numbers between 0 and the smallest code have the right mean too.
      for (int i = 0; i < 64 && has_sign; ++i) numbers[i] *= 2e-6f;
      std::vector<double> sum(256), squares(256);
      for (int seed = 0; seed < kSeeds; ++seed) {
        PlainState state = state_of(format, has_sign, plain);
        accumulate_momentum(state.reduced(), numbers, 0, 1, plain.layout(3, seed));
        for (int i = 0; i < 256; ++i) {
          const double number = state.number(32 + i, 0);
          sum[i] += number, squares[i] += number * number;
        }
      }
      double chi = 0, worst = 0;
      int random = 0;
      for (int i = 0; i < 256; ++i) {
        const double mean = sum[i] / kSeeds, variance = squares[i] / kSeeds - mean * mean;
        const double error = std::abs(mean - numbers[i]);
        if (variance < 1e-4 * std::pow(numbers[i] * 1e-3, 2)) continue;  // hardly between two codes
        const double sigma = error / std::sqrt(variance / kSeeds);
        worst = std::max(worst, sigma), chi += sigma * sigma, ++random;
      }
      CHECK(random > 200);
      CHECK(worst <= 4);
      CHECK(chi / random == doctest::Approx(1).epsilon(4 * std::sqrt(2.0 / random)));
    }
  }
}

TEST_CASE("reduced state: a moment that each step changes by less than a code follows its mean") {
  // v = 0.999 v + 0.001: from 2 it comes to 1 + e^-2 after 2000 steps, through codes that are an eighth apart.
  const PlainLayout plain({2560});
  const Array<float> ones(plain.elements, 1);
  for (const StateFormat format : kFormats) {
    PlainState state = filled_state(format, plain, Array<float>(plain.elements, 2), false);
    for (std::uint32_t step = 1; step <= 2000; ++step) {
      accumulate_momentum(state.reduced(), ones, 0.999f, 0.001f, plain.layout(step));
    }
    const Array<float> numbers = plain_numbers(plain, state);
    double mean = 0;
    for (std::int64_t i = 0; i < 2560; ++i) mean += numbers[i] / 2560;
    CHECK(mean == doctest::Approx(1 + std::exp(-2.0)).epsilon(0.02));
  }
}

TEST_CASE("reduced state: a number that is not finite makes the scale of its block infinite") {
  const PlainLayout plain({600});
  PlainState state = state_of(StateFormat::int8, true, plain);
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    Array<float> numbers = random_array<float>(plain.elements, 1);
    numbers[300] = bad;
    accumulate_momentum(state.reduced(), numbers, 0, 1, plain.layout());
    CHECK(std::isfinite(state.scales[0]));
    CHECK(state.scales[1] == INFINITY);
    CHECK(std::isfinite(state.scales[2]));
  }
}

namespace {

// Runs two steps of `reduced` and of `plain` from the same state, which must agree to the bit. `plain` is the kernel
// for f32, with moments that are read from the state before and rounded after it.
template <class Reduced, class Plain>
void check_update(int moments, const Reduced& reduced, const Plain& plain_update) {
  const PlainLayout plain(kSizes);
  for_each_simd_target([&] {
    for (const StateFormat format : kFormats) {
      CAPTURE(static_cast<int>(format));
      const Array<float> start = random_array<float>(plain.elements, 1);
      Array<float> w = start, expected_w = start;
      std::vector<PlainState> states;
      for (int k = 0; k < moments; ++k) {
        const double low = k == 0 ? -0.01 : 0, high = k == 0 ? 0.01 : 1e-3;
        const Array<float> numbers = random_array<float>(plain.elements, 2 + k, low, high);
        states.push_back(filled_state(format, plain, numbers, k == 0));
      }
      std::vector<PlainState> expected = states;
      std::vector<DecayPart> parts;  // each range has a part, whose end is that of the range
      for (std::size_t k = 0; k < plain.ranges.size(); ++k) {
        parts.push_back({plain.ranges[k].begin + plain.ranges[k].size, 0.1 * static_cast<double>(k % 3),
                         1 - 0.25 * static_cast<double>(k % 2)});
      }
      for (std::uint32_t step = 1; step <= 2; ++step) {
        const StateLayout layout = plain.layout(step);
        Array<float> grad = random_array<float>(plain.elements, 10 + step, -0.1, 0.1);
        reduced(w, states, grad, step, parts, layout);
        std::vector<Array<float>> numbers;
        for (PlainState& state : expected) numbers.push_back(plain_numbers(plain, state));
        plain_update(expected_w, numbers, grad, step, parts);
        for (std::size_t k = 0; k < expected.size(); ++k) {
          plain_encode_all(plain, layout, expected[k], numbers[k], static_cast<int>(k));
        }
      }
      // What lies between two ranges stays as it is.
      for (const StateRange& range : plain.ranges) {
        for (std::int64_t i = 0; i < range.size; ++i) REQUIRE(w[range.begin + i] == expected_w[range.begin + i]);
        CHECK(w[range.begin + range.size] == start[range.begin + range.size]);
      }
      CHECK(states == expected);
    }
  });
}

}  // namespace

TEST_CASE("reduced state: an update of adamw is that of f32 on what the state says, rounded") {
  for (const bool l2 : {false, true}) {
    const auto adam = [l2](std::uint32_t step) { return AdamWStep{1e-3, 0.9, 0.98, 1e-9, 0.7, step, l2}; };
    check_update(
        2,
        [&](float* w, auto& states, const float* grad, auto step, const auto& parts, const auto& layout) {
          adamw(w, states[0].reduced(), states[1].reduced(), grad, adam(step), parts, layout);
        },
        [&](float* w, auto& moments, const float* grad, auto step, const auto& parts) {
          adamw<float>(w, moments[0], moments[1], grad, adam(step), parts);
        });
  }
}

TEST_CASE("reduced state: an update of sgd is that of f32 on what the state says, rounded") {
  for (const bool nesterov : {false, true}) {
    const SgdStep sgd_step{0.1, 0.9, nesterov, 0.7};
    check_update(
        1,
        [&](float* w, auto& states, const float* grad, auto, const auto& parts, const auto& layout) {
          sgd(w, states[0].reduced(), grad, sgd_step, parts, layout);
        },
        [&](float* w, auto& moments, const float* grad, auto, const auto& parts) {
          sgd<float>(w, moments[0], grad, sgd_step, parts);
        });
  }
}

TEST_CASE("reduced state: the same bits for any number of threads") {
  const PlainLayout plain({3 * kGrain + 5, 77, kGrain});
  for (const StateFormat format : kFormats) {
    check_same_for_any_thread_count([&] {
      Array<float> w = random_array<float>(plain.elements, 1);
      PlainState m = filled_state(format, plain, random_array<float>(plain.elements, 2), true);
      PlainState v = filled_state(format, plain, random_array<float>(plain.elements, 3, 0, 1), false);
      const Array<float> grad = random_array<float>(plain.elements, 4);
      const DecayPart part{plain.elements, 0.1};
      adamw(w, m.reduced(), v.reduced(), grad, {1e-3, 0.9, 0.98, 1e-9, 1, 3}, {&part, 1}, plain.layout());
      const Array<float> means = plain_numbers(plain, m), squares = plain_numbers(plain, v);
      Array<float> all(3 * plain.elements);
      std::copy(w.data(), w.data() + plain.elements, all.data());
      std::copy(means.data(), means.data() + plain.elements, all.data() + plain.elements);
      std::copy(squares.data(), squares.data() + plain.elements, all.data() + 2 * plain.elements);
      return all;
    });
  }
}
