#include "nn/formats/gguf_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "autograd/kernels/gemm/q8/q8.h"
#include "core/error.h"

namespace tapeformer {
namespace {

constexpr std::array kTypes{GgufType{0, "F32", 1, 4},      GgufType{1, "F16", 1, 2},    GgufType{30, "BF16", 1, 2},
                            GgufType{8, "Q8_0", 32, 34},   GgufType{2, "Q4_0", 32, 18}, GgufType{12, "Q4_K", 256, 144},
                            GgufType{14, "Q6_K", 256, 210}};

std::string type_names() {
  std::string names;
  for (const GgufType& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

std::uint16_t half_at(const char* bytes) {
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}
float scale_at(const char* bytes) { return kernels::widen_f16(half_at(bytes)); }
int byte_at(const char* bytes) { return static_cast<std::uint8_t>(*bytes); }

void read_q8_0(const char* block, float* out) {
  const float d = scale_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

// The lower halves of the bytes are the first 16 values, the upper halves the others.
void read_q4_0(const char* block, float* out) {
  const float d = scale_at(block);
  for (int i = 0; i < 16; ++i) {
    const int both = byte_at(block + 2 + i);
    out[i] = d * static_cast<float>((both & 15) - 8);
    out[16 + i] = d * static_cast<float>((both >> 4) - 8);
  }
}

// d, m, 12 bytes with the 6-bit factors s and t of 8 parts, 128 bytes with two values each. Of the factors, the first 4
// bytes have s of parts 0 to 3, the next 4 have t, both in their lower 6 bits; the last 4 bytes have the lower 4 bits
// of s and t of parts 4 to 7, whose upper 2 bits are those of the bytes before.
void read_q4_k(const char* block, float* out) {
  const float d = scale_at(block), m = scale_at(block + 2);
  const char *factors = block + 4, *values = block + 16;
  for (int part = 0; part < 8; ++part) {
    int s = 0, t = 0;
    if (part < 4) {
      s = byte_at(factors + part) & 63;
      t = byte_at(factors + 4 + part) & 63;
    } else {
      const int both = byte_at(factors + 4 + part);
      s = (both & 15) | (byte_at(factors + part - 4) >> 6) << 4;
      t = (both >> 4) | (byte_at(factors + part) >> 6) << 4;
    }
    const float scale = d * static_cast<float>(s), least = m * static_cast<float>(t);
    for (int i = 0; i < 32; ++i) {
      const int both = byte_at(values + part / 2 * 32 + i);
      out[part * 32 + i] = scale * static_cast<float>(part % 2 == 0 ? both & 15 : both >> 4) - least;
    }
  }
}

// 128 bytes with the lower 4 bits of two values each, 64 bytes with the upper 2 bits of four values each, 16 factors of
// 8 bits, d. Both halves of the block are stored alike.
void read_q6_k(const char* block, float* out) {
  const float d = scale_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const char *low = block + half * 64, *high = block + 128 + half * 32, *factors = block + 192 + half * 8;
    for (int i = 0; i < 128; ++i) {
      const int bits = byte_at(low + i % 64);
      const int upper = byte_at(high + i % 32) >> i / 32 * 2 & 3;
      const int q = ((i < 64 ? bits & 15 : bits >> 4) | upper << 4) - 32;
      const auto factor = static_cast<float>(static_cast<std::int8_t>(factors[i / 16]));
      out[half * 128 + i] = d * factor * static_cast<float>(q);
    }
  }
}

void write_q8_0(const float* values, char* block) {
  std::int8_t rounded[kernels::kQ8Block];
  kernels::F16 scale;
  kernels::quantize_q8({rounded, &scale}, values, kernels::kQ8Block);
  std::memcpy(block, &scale, sizeof scale);
  std::memcpy(block + sizeof scale, rounded, sizeof rounded);
}

}  // namespace

std::span<const GgufType> gguf_types() { return kTypes; }

const GgufType& gguf_type(std::uint32_t id) {
  const auto found = std::ranges::find(kTypes, id, &GgufType::id);
  check(found != kTypes.end(), "type ", id, " is not supported, only ", type_names());
  return *found;
}

const GgufType& gguf_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &GgufType::name);
  check(found != kTypes.end(), "type ", name, " is not supported, only ", type_names());
  return *found;
}

void dequantize(const GgufType& type, std::span<const char> blocks, std::span<float> out) {
  const std::int64_t count = std::ssize(blocks) / type.bytes;
  check(count * type.bytes == std::ssize(blocks) && count * type.values == std::ssize(out), "GGUF: ", blocks.size(),
        " bytes of ", type.name, " for ", out.size(), " values");
  if (type.name == "F32") std::memcpy(out.data(), blocks.data(), blocks.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const char* const block = blocks.data() + i * type.bytes;
    float* const values = out.data() + i * type.values;
    if (type.name == "F16") *values = scale_at(block);
    if (type.name == "BF16") *values = kernels::widen(half_at(block));
    if (type.name == "Q8_0") read_q8_0(block, values);
    if (type.name == "Q4_0") read_q4_0(block, values);
    if (type.name == "Q4_K") read_q4_k(block, values);
    if (type.name == "Q6_K") read_q6_k(block, values);
  }
}

void quantize(const GgufType& type, std::span<const float> values, std::span<char> blocks) {
  const std::int64_t count = std::ssize(values) / type.values;
  check(count * type.values == std::ssize(values) && count * type.bytes == std::ssize(blocks), "GGUF: ", values.size(),
        " values for ", blocks.size(), " bytes of ", type.name);
  check(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }), "a value is not a finite number");
  if (type.name == "F32") {
    std::memcpy(blocks.data(), values.data(), blocks.size());
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    char* const block = blocks.data() + i * type.bytes;
    if (type.name == "Q8_0") {
      write_q8_0(values.data() + i * type.values, block);
      continue;
    }
    check(type.values == 1, "GGUF: ", type.name, " is not written");
    const std::uint16_t bits =
        type.name == "BF16" ? kernels::round_to_bf16(values[i]) : kernels::round_to_f16(values[i]);
    check(type.name == "BF16" || (bits & 0x7FFF) < 0x7C00, "a value is beyond the range of F16: ", values[i]);
    std::memcpy(block, &bits, sizeof bits);
  }
}

}  // namespace tapeformer
