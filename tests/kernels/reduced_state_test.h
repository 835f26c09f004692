// The formats of reduced_state.h by their definition, one number at a time: what the kernels are compared with.
#pragma once

#include <bit>
#include <limits>

#include "autograd/kernels/optim/reduced_state.h"
#include "tests/kernels/kernel_test.h"

namespace tapeformer {

using namespace kernels;

// One moment of several ranges, with memory of its own.
struct PlainState {
  StateFormat format;
  bool has_sign;
  std::vector<std::uint16_t> halves;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;

  PlainState(StateFormat format, bool has_sign, std::int64_t elements, std::int64_t blocks)
      : format(format), has_sign(has_sign) {
    if (format == StateFormat::bf16) {
      halves.resize(elements);
    } else {
      codes.resize(elements);
      scales.resize(blocks);
    }
  }
  ReducedState reduced() { return {format, has_sign, halves.data(), codes.data(), scales.data()}; }
  bool operator==(const PlainState&) const = default;

  // L(c) of the block.
  double level(std::int64_t block, int code) const {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scales[block]) + (static_cast<std::uint32_t>(code) << 20));
  }
  float number(std::int64_t i, std::int64_t block) const {
    if (format == StateFormat::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(halves[i]) << 16);
    const double magnitude = level(block, has_sign ? codes[i] % 128 : codes[i]) - scales[block];
    return static_cast<float>(has_sign && codes[i] >= 128 ? -magnitude : magnitude);
  }
};

// The neighbours of a magnitude among floats whose `dropped` lower bits are 0, and of them the one that a random number
// in (0, 1) chooses.
inline float rounded(float magnitude, int dropped, double random) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude) >> dropped << dropped;
  const auto below = std::bit_cast<float>(bits), above = std::bit_cast<float>(bits + (1u << dropped));
  if (above == std::numeric_limits<float>::infinity()) return below;  // the tests have no such number
  const double share = (double{magnitude} - below) / (double{above} - below);
  return share + random >= 1 ? above : below;
}

// Rounds n numbers to element `at` of the state on, which is the beginning of a block. random[i] are 16 random bits.
inline void plain_encode(PlainState& state, std::int64_t at, std::int64_t block, const float* x,
                         const std::vector<std::uint32_t>& random, std::int64_t n) {
  if (state.format == StateFormat::bf16) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float magnitude = rounded(std::abs(x[i]), 16, random[i] / 65536.0);
      state.halves[at + i] = std::bit_cast<std::uint32_t>(std::copysign(magnitude, x[i])) >> 16;
    }
    return;
  }
  const int most = state.has_sign ? 127 : 255;
  float largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  // The smallest scale with which the largest lies two codes below the last one.
  state.scales[block] = 0x1p-100f;
  while (state.level(block, most - 1) <= largest) state.scales[block] = static_cast<float>(state.level(block, 1));
  for (std::int64_t i = 0; i < n; ++i) {
    const float number = rounded(std::abs(x[i]) + state.scales[block], 20, (random[i] + 0.5) / 65536);
    int code = 0;
    while (state.level(block, code) < number) ++code;
    if (!state.has_sign && x[i] > 0) code = std::max(code, 1);
    state.codes[at + i] = static_cast<std::uint8_t>(code + (std::signbit(x[i]) && state.has_sign ? 128 : 0));
  }
}

// The random bits of a block of n elements from `begin` on, for the moment 0 or 1.
inline std::vector<std::uint32_t> plain_random(const StateLayout& layout, std::int64_t begin, std::int64_t n,
                                               int moment) {
  std::vector<std::uint32_t> words, random(n);
  for (std::int64_t i = 0; i < 128; ++i) {
    const std::int64_t drawn = 2 * (layout.offset + begin) + i;
    std::uint32_t word = i < 32 ? layout.key.words(drawn / 4)[drawn % 4] : words[i - 32];
    if (i >= 32) word ^= word << 13, word ^= word >> 17, word ^= word << 5;
    words.push_back(word);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = words[i / 2] >> i % 2 * 16 & 0xFFFF;
    random[i] = moment == 0 ? bits : (bits << 8 | bits >> 8) & 0xFFFF;
  }
  return random;
}

// Ranges of uneven lengths with gaps between them, in another order of places in the state than among the weights.
struct PlainLayout {
  std::vector<StateRange> ranges;
  std::int64_t elements = 0, blocks = 0;  // of the weights and of the state

  explicit PlainLayout(const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t size : sizes) {
      ranges.push_back({elements, elements + 32, size, blocks});
      elements += (size + 15) / 16 * 16 + 16;
      blocks += state_blocks(size);
    }
  }
  std::int64_t state_elements() const { return elements + 32; }
  StateLayout layout(std::uint32_t step = 3, std::uint64_t seed = 7) const {
    return {ranges, RandomKey{.seed = seed, .step = step, .stream = 5}, 1024};
  }
};

// Calls f(begin, state_begin, n, block) for every block.
template <class F>
void for_each_plain_block(const PlainLayout& plain, const F& f) {
  for (const StateRange& range : plain.ranges) {
    for (std::int64_t k = 0; k < state_blocks(range.size); ++k) {
      f(range.begin + k * kStateBlock, range.state_begin + k * kStateBlock,
        std::min(kStateBlock, range.size - k * kStateBlock), range.first_block + k);
    }
  }
}

// The numbers of the state at the places of the weights; 0 elsewhere.
inline Array<float> plain_numbers(const PlainLayout& plain, const PlainState& state) {
  Array<float> numbers(plain.elements, 0);
  for_each_plain_block(plain, [&](auto begin, auto state_begin, auto n, auto block) {
    for (std::int64_t i = 0; i < n; ++i) numbers[begin + i] = state.number(state_begin + i, block);
  });
  return numbers;
}

inline void plain_encode_all(const PlainLayout& plain, const StateLayout& layout, PlainState& state, const float* x,
                             int moment) {
  for_each_plain_block(plain, [&](auto begin, auto state_begin, auto n, auto block) {
    plain_encode(state, state_begin, block, x + begin, plain_random(layout, begin, n, moment), n);
  });
}

}  // namespace tapeformer
