// Vector Philox4x32-10, for each of Highway's targets: the words of RandomKey::words, many blocks at a time.
#if defined(TAPEFORMER_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORMER_PHILOX_INL_H
#undef TAPEFORMER_PHILOX_INL_H
#else
#define TAPEFORMER_PHILOX_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// words[0] to words[4·blocks − 1] become the words of the key's sequence from 4·first_block on. It writes a few more:
// `words` must have room for `blocks` rounded up to a multiple of 8.
inline void philox_words(std::uint32_t* words, const RandomKey& key, std::uint64_t first_block, std::int64_t blocks) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto drawn = key.words(first_block + block);
    std::copy(drawn.begin(), drawn.end(), words + 4 * block);
  }
#else
  const hn::CappedTag<std::uint64_t, 8> d;
  const hn::Repartition<std::uint32_t, decltype(d)> d32;
  const auto low_half = hn::Set(d, 0xFFFFFFFFu);
  const auto factor0 = hn::BitCast(d32, hn::Set(d, 0xD2511F53u)), factor1 = hn::BitCast(d32, hn::Set(d, 0xCD9E8D57u));
  const auto [key0, key1] = key.philox_key();
  const std::int64_t turn = hn::Lanes(d);
  for (std::int64_t block = 0; block < blocks; block += turn) {
    // A lane holds one word of one block's counter in its low half; MulEven ignores the high half.
    const auto index = hn::Add(hn::Set(d, first_block + block), hn::Iota(d, 0));
    auto c0 = index, c1 = hn::ShiftRight<32>(index), c2 = hn::Set(d, key.step), c3 = hn::Set(d, key.micro_step);
    std::uint32_t k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
      const auto product0 = hn::MulEven(hn::BitCast(d32, c0), factor0);
      const auto product1 = hn::MulEven(hn::BitCast(d32, c2), factor1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), c3), hn::Set(d, k1));
      c1 = product1;
      c3 = product0;
    }
    hn::StoreInterleaved2(hn::Or(hn::And(c0, low_half), hn::ShiftLeft<32>(c1)),
                          hn::Or(hn::And(c2, low_half), hn::ShiftLeft<32>(c3)), d,
                          reinterpret_cast<std::uint64_t*>(words + 4 * block));
  }
#endif
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
