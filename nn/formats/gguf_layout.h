// What reading and writing a GGUF file share: its first bytes, how its tensors are aligned, and the types of its
// values.
#pragma once

#include <bit>
#include <cstdint>

namespace tapeformer::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF is little-endian, and so must the machine be");

inline constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
inline constexpr std::int64_t kAlignment = 32;
inline constexpr const char* kAlignmentKey = "general.alignment";

// The types of values, by their number in the file.
enum Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, truth, string, list, u64, i64, f64, kinds };
inline constexpr std::int64_t kBytes[kinds] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // the fewest bytes of a value

constexpr std::int64_t aligned(std::int64_t offset, std::int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace tapeformer::gguf
