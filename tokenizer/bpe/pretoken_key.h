// A pretoken of up to 15 bytes as two 64-bit words, which are compared and hashed without reading its text. Most
// pretokens are that short.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tapeformer {

static_assert(std::endian::native == std::endian::little, "a pretoken's bytes lie in its key in their order");

struct PretokenKey {
  static constexpr std::size_t kMostBytes = 15;

  std::uint64_t low = 0;   // bytes 0 to 7, zeros after the last
  std::uint64_t high = 0;  // bytes 8 to 14, and the length as the last byte

  PretokenKey() = default;
  // The pretoken has 1 to kMostBytes bytes. Two reads may overlap, since the bytes around a pretoken may not be
  // readable.
  explicit PretokenKey(std::string_view pretoken) {
    const char* bytes = pretoken.data();
    const std::size_t size = pretoken.size();
    if (size >= 8) {
      low = load<std::uint64_t>(bytes);
      high = load<std::uint64_t>(bytes + size - 8) >> 8 >> 8 * (15 - size);
    } else if (size >= 4) {
      low = load<std::uint32_t>(bytes) | static_cast<std::uint64_t>(load<std::uint32_t>(bytes + size - 4))
                                             << 8 * (size - 4);
    } else {
      const auto byte = [&](std::size_t i) {
        return static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << 8 * i;
      };
      low = byte(0) | byte(size / 2) | byte(size - 1);
    }
    high |= static_cast<std::uint64_t>(size) << 56;
  }

  std::size_t size() const { return high >> 56; }
  // The bytes, which are valid until this key moves or is destroyed.
  std::string_view view() const { return {reinterpret_cast<const char*>(this), size()}; }

  std::uint64_t hash() const {
    const std::uint64_t mixed = low * 0x9E3779B97F4A7C15ull ^ std::rotl(high * 0xBF58476D1CE4E5B9ull, 32);
    return (mixed ^ mixed >> 29) * 0x94D049BB133111EBull;
  }
  friend bool operator==(const PretokenKey&, const PretokenKey&) = default;

 private:
  template <class Word>
  static Word load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }
};

}  // namespace tapeformer
