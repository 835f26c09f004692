// How kernels read and write moments: decodes and rounds the blocks of reduced_state.h, for each of Highway's targets.
#if defined(TAPEFORMER_REDUCED_STATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORMER_REDUCED_STATE_INL_H
#undef TAPEFORMER_REDUCED_STATE_INL_H
#else
#define TAPEFORMER_REDUCED_STATE_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "autograd/kernels/optim/update_blocks.h"
#include "autograd/kernels/simd/philox-inl.h"
#include "autograd/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

constexpr int kCodeShift = 20;                   // the bits of a float below those of a code
constexpr std::uint32_t kInfinity = 0x7F8;       // the bits of ∞ above kCodeShift
constexpr std::uint32_t kLeastScale = 0x0D8;     // those of 2⁻¹⁰⁰
constexpr std::int32_t kMagnitude = 0x7FFFFFFF;  // all bits but the sign

// The numbers of a block.
struct alignas(64) BlockNumbers {
  float values[kStateBlock];
};

// The random numbers of a block, of 16 bits, for its first moment, and after exchange_bytes() for its second one.
struct alignas(64) BlockRandom {
  static constexpr std::int64_t kDrawn = 32;  // words that Philox draws
  BlockRandom(const StateLayout& layout, const StateBlock& block) {
    philox_words(words, layout.key, (layout.offset + block.begin) / kStateAlignment * kDrawn / 4, kDrawn / 4);
    const hn::CappedTag<std::uint32_t, kDrawn> d;
    for (std::int64_t i = 0; i < kStateBlock / 2 - kDrawn; i += lanes(d)) {
      auto word = hn::Load(d, words + i);
      word = hn::Xor(word, hn::ShiftLeft<13>(word));
      word = hn::Xor(word, hn::ShiftRight<17>(word));
      hn::Store(hn::Xor(word, hn::ShiftLeft<5>(word)), d, words + i + kDrawn);
    }
  }
  void exchange_bytes() {
    const hn::CappedTag<std::uint16_t, 2 * kDrawn> d;
    auto* to = reinterpret_cast<std::uint16_t*>(words);
    for (std::int64_t i = 0; i < kStateBlock; i += lanes(d)) {
      const auto half = hn::Load(d, to + i);
      hn::Store(hn::Or(hn::ShiftLeft<8>(half), hn::ShiftRight<8>(half)), d, to + i);
    }
  }
  const std::uint16_t* halves() const { return reinterpret_cast<const std::uint16_t*>(words); }
  std::uint32_t words[kStateBlock / 2];
};

// The numbers of a block of a state in bf16: load() returns those from element i on, of which `left` are left.
struct HalfReader {
  HalfReader(const ReducedState& state, const StateBlock& block) : halves(state.halves + block.state_begin) {}
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t i, std::int64_t left) const {
    const hn::RebindToUnsigned<D> bits;
    const hn::Rebind<std::uint16_t, D> half;
    const auto upper = hn::PromoteTo(bits, HWY_NAMESPACE::load(half, halves + i, left));
    return hn::BitCast(d, hn::ShiftLeft<16>(upper));
  }
  const std::uint16_t* halves;
};

// The numbers of a block of a state in 8 bits, as HalfReader has them in 16.
template <bool kSigned>
struct CodeReader {
  CodeReader(const ReducedState& state, const StateBlock& block)
      : codes(state.codes + block.state_begin), scale(state.scales[block.index]) {}
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t i, std::int64_t left) const {
    const hn::RebindToUnsigned<D> bits;
    const hn::Rebind<std::uint8_t, D> byte;
    const auto base = hn::Set(d, scale);
    const auto code = hn::PromoteTo(bits, HWY_NAMESPACE::load(byte, codes + i, left));
    const auto steps = hn::ShiftLeft<kCodeShift>(kSigned ? hn::And(code, hn::Set(bits, 127u)) : code);
    const auto number = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(bits, base), steps)), base);
    if (!kSigned) return number;
    const auto sign = hn::ShiftLeft<24>(hn::AndNot(hn::Set(bits, 127u), code));
    return hn::BitCast(d, hn::Or(hn::BitCast(bits, number), sign));
  }
  const std::uint8_t* codes;
  float scale;
};

inline void encode_halves(std::uint16_t* halves, const float* x, const std::uint16_t* random, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<std::uint16_t, decltype(d)> half;
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto number = hn::BitCast(bits, hn::Load(d, x + i));
    const auto rounded = hn::ShiftRight<16>(hn::Add(number, hn::PromoteTo(bits, hn::Load(half, random + i))));
    store(half, hn::DemoteTo(half, hn::BitCast(integers, rounded)), halves + i, n - i);
  }
}

// The bits of the scale of n numbers, without the lower kCodeShift.
template <bool kSigned>
std::uint32_t scale_bits(const float* x, std::int64_t n) {
  constexpr std::uint32_t kMost = kSigned ? 127 : 255;
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  auto largest = hn::Zero(integers);
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto number = hn::BitCast(integers, hn::Load(d, x + i));
    largest = hn::Max(largest, kSigned ? hn::And(number, hn::Set(integers, kMagnitude)) : number);
  }
  const auto top = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(integers, largest))) >> kCodeShift;
  return top >= kInfinity ? kInfinity : std::max(kLeastScale + kMost, top + 2) - kMost;
}

// Encodes the n numbers of one block; returns its scale. A random number of 20 bits is added to the bits of |x| + s
// before the lower 20 are dropped, which leaves the bits of an L, of one of the two neighbours. The 16 random bits are
// the upper ones of the 20, and the bit below them is 1, which keeps the mean.
template <bool kSigned>
float encode_codes(std::uint8_t* codes, const float* x, const std::uint16_t* random, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<std::uint16_t, decltype(d)> half;
  const hn::Rebind<std::uint8_t, decltype(d)> byte;
  const std::uint32_t scale = scale_bits<kSigned>(x, n);
  const auto base = hn::BitCast(d, hn::Set(bits, scale << kCodeShift));
  const auto offset = hn::Set(bits, (1u << (kCodeShift - 17)) - (scale << kCodeShift));
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto number = hn::Load(d, x + i);
    const auto level = hn::BitCast(bits, hn::Add(kSigned ? hn::Abs(number) : number, base));
    const auto drawn = hn::ShiftLeft<kCodeShift - 16>(hn::PromoteTo(bits, hn::Load(half, random + i)));
    auto code = hn::BitCast(integers, hn::ShiftRight<kCodeShift>(hn::Add(hn::Add(level, drawn), offset)));
    if constexpr (kSigned) {
      const auto sign = hn::And(hn::ShiftRight<24>(hn::BitCast(integers, number)), hn::Set(integers, 128));
      code = hn::Or(code, sign);
    } else {
      code = hn::Max(code, hn::Min(hn::BitCast(integers, number), hn::Set(integers, 1)));
    }
    store(byte, hn::DemoteTo(byte, code), codes + i, n - i);
  }
  return std::bit_cast<float>(scale << kCodeShift);
}

// Calls f with the reader of the block.
template <class F>
HWY_INLINE void with_reader(const ReducedState& state, const StateBlock& block, const F& f) {
  if (state.format == StateFormat::bf16) return f(HalfReader(state, block));
  if (state.has_sign) return f(CodeReader<true>(state, block));
  f(CodeReader<false>(state, block));
}

// A moment of a block while a kernel updates it: load() decodes it, and store() keeps what encode_block() rounds.
template <class Reader>
struct BlockMoment {
  BlockMoment(const Reader& before, BlockNumbers& after) : reader(before), updated(after.values) {}
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t i, std::int64_t left) const {
    return reader.load(d, i, left);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> x, std::int64_t i, std::int64_t) const {
    hn::Store(x, d, updated + i);
  }
  Reader reader;
  float* updated;
};

// A moment in an array of f32 or f64.
template <class T>
struct ArrayMoment {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t i, std::int64_t left) const {
    return HWY_NAMESPACE::load(d, values + i, left);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> x, std::int64_t i, std::int64_t left) const {
    HWY_NAMESPACE::store(d, x, values + i, left);
  }
  T* values;
};

inline void encode_block(const ReducedState& state, const BlockNumbers& numbers, const BlockRandom& random,
                         const StateBlock& block) {
  if (state.format == StateFormat::bf16) {
    return encode_halves(state.halves + block.state_begin, numbers.values, random.halves(), block.size);
  }
  const auto encode = state.has_sign ? encode_codes<true> : encode_codes<false>;
  state.scales[block.index] = encode(state.codes + block.state_begin, numbers.values, random.halves(), block.size);
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
