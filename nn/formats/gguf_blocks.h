// The types of tensors in GGUF files, most of which store values in blocks: a scale, and small whole numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tapeformer {

// The numbers are ggml's. A block has `values` values of a row in `bytes` bytes.
struct GgufType {
  std::uint32_t id;
  std::string_view name;
  std::int64_t values, bytes;
};
// F32, F16 and BF16; Q8_0: 32 values d·q, d in F16, q of 8 bits; Q4_0 and Q5_0: 32 values d·(q − 8) and d·(q − 16), q
// of 4 and 5 bits; Q4_1 and Q5_1: d·q + m; Q4_K and Q5_K: 256 values of 4 or 5 bits in 8 parts, d·s·q − m·t with s and
// t of 6 bits for each part; Q2_K: 2 bits in 16 parts, s and t of 4 bits; Q3_K: 3 bits in 16 parts, d·(s − 32)·(q − 4)
// with s of 6 bits; Q6_K: 6 bits in 16 parts, d·s·(q − 32) with s of 8 bits.
// Both functions throw Error for another type, and list the supported ones.
const GgufType& gguf_type(std::uint32_t id);
const GgufType& gguf_type(std::string_view name);

// Writes the values of whole blocks to `out`, type.values for each block.
void dequantize(const GgufType& type, std::span<const char> blocks, std::span<float> out);
// Writes whole blocks of F32, F16, BF16 or Q8_0, rounded to nearest. In Q8_0 the largest value of a block is 127·d.
// Throws Error for a value that is not finite, or beyond the range of the type.
void quantize(const GgufType& type, std::span<const float> values, std::span<char> blocks);

}  // namespace tapeformer
