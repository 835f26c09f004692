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
// F32, F16, BF16; Q8_0: 32 values d·q, d in F16, q of 8 bits; Q4_0: 32 values d·(q − 8), q of 4 bits; Q4_K: 256 values
// of 4 bits in 8 parts, d·s·q − m·t with s and t of 6 bits for each part; Q6_K: 256 values of 6 bits in 16 parts,
// d·s·(q − 32) with s of 8 bits for each part.
std::span<const GgufType> gguf_types();
// Throws Error, which lists the types that are supported.
const GgufType& gguf_type(std::uint32_t id);
const GgufType& gguf_type(std::string_view name);

// Returns the values of whole blocks in `out`.
void dequantize(const GgufType& type, std::span<const char> blocks, std::span<float> out);
// Writes whole blocks of F32, F16, BF16 or Q8_0, rounded to nearest. In Q8_0 the largest value of a block is 127·d.
// Throws Error for a value that is not finite, or beyond the range of the type.
void quantize(const GgufType& type, std::span<const float> values, std::span<char> blocks);

}  // namespace tapeformer
