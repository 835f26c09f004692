#include "nn/formats/gguf_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "autograd/kernels/gemm/q8/q8.h"
#include "core/error.h"
#include "core/text/joined.h"

namespace tapeformer {
namespace {

std::uint16_t half_at(const char* bytes) {
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}
float scale_at(const char* bytes) { return kernels::widen_f16(half_at(bytes)); }
int byte_at(const char* bytes) { return static_cast<std::uint8_t>(*bytes); }

void read_f16(const char* block, float* out) { *out = scale_at(block); }
void read_bf16(const char* block, float* out) { *out = kernels::widen(half_at(block)); }

void read_q8_0(const char* block, float* out) {
  const float d = scale_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

// Q4_0, Q4_1, Q5_0 and Q5_1. A block has d; then m, the least value, in Q4_1 and Q5_1; then, in Q5_0 and Q5_1, 4 bytes
// with the fifth bit of each value; then 16 bytes, whose lower 4 bits are the first 16 values, and whose upper 4 bits
// are the other 16.
template <int bits, bool has_least>
void read_small(const char* block, float* out) {
  const float d = scale_at(block), m = has_least ? scale_at(block + 2) : 0;
  const char* low = block + (has_least ? 4 : 2);
  std::uint32_t fifth = 0;
  if (bits == 5) {
    std::memcpy(&fifth, low, sizeof fifth);
    low += sizeof fifth;
  }
  for (int i = 0; i < 32; ++i) {
    const int both = byte_at(low + i % 16);
    const int q = (i < 16 ? both & 15 : both >> 4) | static_cast<int>(fifth >> i & 1) << 4;
    out[i] = has_least ? d * static_cast<float>(q) + m : d * static_cast<float>(q - (1 << (bits - 1)));
  }
}

// Q2_K. A block has a byte for each of its 16 parts, with the factor s in the lower 4 bits and the factor t of the
// least value in the upper 4 bits; then 64 bytes with four values each; then d and m. Both halves of the block are
// stored alike.
void read_q2_k(const char* block, float* out) {
  const float d = scale_at(block + 80), m = scale_at(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, in_half = i % 128, factors = byte_at(block + i / 16);
    const int q = byte_at(block + 16 + half * 32 + in_half % 32) >> in_half / 32 * 2 & 3;
    out[i] = d * static_cast<float>(factors & 15) * static_cast<float>(q) - m * static_cast<float>(factors >> 4);
  }
}

// Q3_K. A block has 32 bytes with the third bit of each value, 64 bytes with the lower 2 bits of four values each, 12
// bytes with the 6-bit factors of 16 parts, and d. The first 8 bytes of the factors have their lower 4 bits: of parts 0
// to 7 in the lower half of each byte, of parts 8 to 15 in the upper half. The last 4 bytes have the upper 2 bits. A
// value whose third bit is not set is 4 less.
void read_q3_k(const char* block, float* out) {
  const char *high = block, *low = block + 32, *factors = block + 96;
  const float d = scale_at(block + 108);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, in_half = i % 128, part = i / 16;
    const int lower = part < 8 ? byte_at(factors + part) & 15 : byte_at(factors + part - 8) >> 4;
    const int factor = lower | (byte_at(factors + 8 + part % 4) >> part / 4 * 2 & 3) << 4;
    const int q = byte_at(low + half * 32 + in_half % 32) >> in_half / 32 * 2 & 3;
    const bool is_set = (byte_at(high + in_half % 32) >> i / 32 & 1) != 0;
    out[i] = d * static_cast<float>(factor - 32) * static_cast<float>(is_set ? q : q - 4);
  }
}

// Q4_K and Q5_K. A block has d, m and 12 bytes with the 6-bit factors s and t of 8 parts; then, in Q5_K, 32 bytes with
// the fifth bits of 8 values each; then 128 bytes with two values each. The first 4 bytes of the factors have s of
// parts 0 to 3 in their lower 6 bits, and the next 4 have t. The last 4 bytes have the lower 4 bits of s and of t for
// parts 4 to 7; the upper 2 bits of the first 8 bytes are the upper 2 bits of these s and t.
template <int bits>
void read_with_factors(const char* block, float* out) {
  const float d = scale_at(block), m = scale_at(block + 2);
  const char *factors = block + 4, *fifth = block + 16, *values = block + (bits == 5 ? 48 : 16);
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
      const int q = (part % 2 == 0 ? both & 15 : both >> 4) | (bits == 5 ? byte_at(fifth + i) >> part & 1 : 0) << 4;
      out[part * 32 + i] = scale * static_cast<float>(q) - least;
    }
  }
}

// Q6_K. A block has 128 bytes with the lower 4 bits of two values each, 64 bytes with the upper 2 bits of four values
// each, 16 factors of 8 bits, and d. Both halves of the block are stored alike.
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

struct TypeRow {
  GgufType type;
  void (*read)(const char* block, float* values);  // null for F32, which is copied
};
constexpr TypeRow kTypes[] = {{{0, "F32", 1, 4}, nullptr},
                              {{1, "F16", 1, 2}, read_f16},
                              {{30, "BF16", 1, 2}, read_bf16},
                              {{8, "Q8_0", 32, 34}, read_q8_0},
                              {{2, "Q4_0", 32, 18}, read_small<4, false>},
                              {{3, "Q4_1", 32, 20}, read_small<4, true>},
                              {{6, "Q5_0", 32, 22}, read_small<5, false>},
                              {{7, "Q5_1", 32, 24}, read_small<5, true>},
                              {{10, "Q2_K", 256, 84}, read_q2_k},
                              {{11, "Q3_K", 256, 110}, read_q3_k},
                              {{12, "Q4_K", 256, 144}, read_with_factors<4>},
                              {{13, "Q5_K", 256, 176}, read_with_factors<5>},
                              {{14, "Q6_K", 256, 210}, read_q6_k}};

// The row of the type for which `is` is true; null if there is none.
template <class Is>
const TypeRow* find_row(const Is& is) {
  const auto* const found = std::ranges::find_if(kTypes, is, &TypeRow::type);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string type_names() {
  return joined(kTypes, ", ", [](const TypeRow& row) { return row.type.name; });
}

void write_q8_0(const float* values, char* block) {
  std::int8_t rounded[kernels::kQ8Block];
  kernels::F16 scale;
  kernels::quantize_q8({rounded, &scale}, values, kernels::kQ8Block);
  std::memcpy(block, &scale, sizeof scale);
  std::memcpy(block + sizeof scale, rounded, sizeof rounded);
}

}  // namespace

const GgufType& gguf_type(std::uint32_t id) {
  const TypeRow* const row = find_row([&](const GgufType& type) { return type.id == id; });
  check(row != nullptr, "type ", id, " is not supported, only ", type_names());
  return row->type;
}

const GgufType& gguf_type(std::string_view name) {
  const TypeRow* const row = find_row([&](const GgufType& type) { return type.name == name; });
  check(row != nullptr, "type ", name, " is not supported, only ", type_names());
  return row->type;
}

void dequantize(const GgufType& type, std::span<const char> blocks, std::span<float> out) {
  const std::int64_t count = std::ssize(blocks) / type.bytes;
  check(count * type.bytes == std::ssize(blocks) && count * type.values == std::ssize(out), "GGUF: ", blocks.size(),
        " bytes of ", type.name, " for ", out.size(), " values");
  const auto read = find_row([&](const GgufType& other) { return other.id == type.id; })->read;
  if (!read) {
    std::memcpy(out.data(), blocks.data(), blocks.size());
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) read(blocks.data() + i * type.bytes, out.data() + i * type.values);
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
