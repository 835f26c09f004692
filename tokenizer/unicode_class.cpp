#include "tokenizer/unicode_class.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "core/text/utf8.h"

namespace tapeformer {
namespace {

struct ClassRange {
  std::int32_t first, last;
  CharClass char_class;
};

using enum CharClass;
constexpr ClassRange kRanges[] = {
#include "tokenizer/unicode_ranges.inc"
};

constexpr std::int32_t kBlockSize = 256, kCodePoints = 0x110000;
constexpr int kClasses = 4;

// A table of two levels: blocks of 256 code points. All blocks of a single class share one copy.
struct ClassTable {
  std::array<std::uint8_t, kCodePoints / kBlockSize> block{};  // by code point / 256
  std::array<std::array<CharClass, kBlockSize>, 256> classes{};

  constexpr ClassTable() {
    for (int c = 0; c < kClasses; ++c) classes[c].fill(static_cast<CharClass>(c));
    int blocks = kClasses;
    const ClassRange* range = std::begin(kRanges);
    for (std::size_t b = 0; b < block.size(); ++b) {
      const std::int32_t first = static_cast<std::int32_t>(b) * kBlockSize, last = first + kBlockSize - 1;
      while (range != std::end(kRanges) && range->last < first) ++range;
      if (range == std::end(kRanges) || range->first > last) continue;  // other
      if (range->first <= first && range->last >= last) {
        block[b] = static_cast<std::uint8_t>(range->char_class);
        continue;
      }
      block[b] = static_cast<std::uint8_t>(blocks);
      for (const ClassRange* r = range; r != std::end(kRanges) && r->first <= last; ++r) {
        for (std::int32_t c = std::max(first, r->first); c <= std::min(last, r->last); ++c) {
          classes[blocks][c - first] = r->char_class;
        }
      }
      ++blocks;
    }
  }
};

constexpr ClassTable kTable;

}  // namespace

CharClass char_class(std::int32_t code_point) {
  if (code_point == kInvalidUtf8) return other;
  return kTable.classes[kTable.block[code_point / kBlockSize]][code_point % kBlockSize];
}

std::size_t white_space_begin(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin) {
    const std::size_t last = character_start(text, end - 1);
    if (last < begin || char_class(read_utf8(text, last).code_point) != space) break;
    end = last;
  }
  return end;
}

std::size_t white_space_end(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Utf8Char c = read_utf8(text, at);
    if (char_class(c.code_point) != space) break;
    at += static_cast<std::size_t>(c.length);
  }
  return at;
}

}  // namespace tapeformer
