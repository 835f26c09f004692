// The moments of optimizers in fewer bits than f32: bf16, or 8 bits with a scale for each block of 256 elements.
//
// bf16 is the upper half of a float. With 8 bits, a block is 256 consecutive elements of a parameter (its last one may
// be shorter), and its scale is a float s > 0. Let L(c) be the float whose bits are those of s plus c·2²⁰: from one L
// to the next a number grows by 1/8 of its power of two. The code c is the number L(c) − s. So codes are as dense as
// floats with 3 bits of mantissa, and near 0 they are s/8 apart. Without a sign, c is at most 255; with one, the upper
// bit is the sign, and c is at most 127. The lower 20 bits of s are 0, and s is the smallest for which the magnitudes
// of the block are below L(c − 1) of the largest c, but at least 2⁻¹⁰⁰. So s is about 2⁻³² of the largest number of a
// block, or 2⁻¹⁶ with a sign. A block with a number that is not finite has the scale ∞. Blocks with a scale, and codes
// that are dense near 0, are of Dettmers et al. 2022 ("8-bit optimizers via block-wise quantization"), who read them
// from a table and round to the nearest.
//
// Rounding is stochastic: x between two neighbours a < b becomes b with the probability (x − a)/(b − a), so that its
// mean is x. By rounding to the nearest, a moment would never change by the small share that a step adds to it. Only
// numbers without a sign that are above 0 become at least code 1: an optimizer that divides by their root must not find
// 0 where a gradient was.
#pragma once

#include <cstdint>
#include <span>

#include "core/random.h"

namespace tapeformer::kernels {

// How an optimizer keeps its moments.
enum class StateFormat { f32, bf16, int8 };

inline constexpr std::int64_t kStateBlock = 256, kStateAlignment = 16;
constexpr std::int64_t state_blocks(std::int64_t elements) { return (elements + kStateBlock - 1) / kStateBlock; }

// Returns the bytes of one moment of a parameter with so many elements.
constexpr std::int64_t state_bytes(StateFormat format, std::int64_t elements) {
  switch (format) {
    case StateFormat::f32:
      break;
    case StateFormat::bf16:
      return 2 * elements;
    case StateFormat::int8:
      return elements + 4 * state_blocks(elements);
  }
  return 4 * elements;
}

// One moment of all parameters. With bf16 `halves` is used, with int8 `codes` and `scales`.
struct ReducedState {
  StateFormat format;
  bool has_sign;
  std::uint16_t* halves;
  std::uint8_t* codes;
  float* scales;
};

// A parameter, or a range of one that begins at one of its blocks: the index of its first element among the weights
// and gradients (a multiple of kStateAlignment) and in the state, the number of its elements, and the index of its
// first block.
struct StateRange {
  std::int64_t begin, state_begin, size, first_block;
};

// The ranges of an optimizer's state in their order, each beginning with the block after the last one of the range
// before, and the random numbers of one step. A block whose first element is e of the weights, with `offset` added, has
// 128 random words: 32 of the key's sequence, from 2·e on, and three times 32 more, each of which follows from the word
// 32 before it by xorshift (Marsaglia 2003: 13, 17, 5), because Philox would take longer than the update. Element i of
// the block has half i of them (the lower half of a word comes first), 16 bits that round the first moment, and with
// their two bytes exchanged the second one. `offset` is a multiple of kStateAlignment.
struct StateLayout {
  std::span<const StateRange> ranges;
  RandomKey key;
  std::int64_t offset;
};

// out (count) = the numbers of the state's range, from its element `first` on.
void decode_state(float* out, const ReducedState& state, const StateRange& range, std::int64_t first,
                  std::int64_t count);

// m = momentum·m + scale·grad for all ranges, rounded.
void accumulate_momentum(const ReducedState& m, const float* grad, float momentum, float scale,
                         const StateLayout& layout);

}  // namespace tapeformer::kernels
