#include "tokenizer/unicode_class.h"

#include <algorithm>
#include <array>
#include <iterator>

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

constexpr CharClass search(std::int32_t code_point) {
  const auto after = std::upper_bound(std::begin(kRanges), std::end(kRanges), code_point,
                                      [](std::int32_t value, const ClassRange& range) { return value < range.first; });
  if (after == std::begin(kRanges)) return other;
  const ClassRange& range = *std::prev(after);
  return code_point <= range.last ? range.char_class : other;
}

constexpr auto kAscii = [] {
  std::array<CharClass, 128> classes{};
  for (int i = 0; i < 128; ++i) classes[i] = search(i);
  return classes;
}();

}  // namespace

CharClass char_class(std::int32_t code_point) {
  return code_point >= 0 && code_point < 128 ? kAscii[code_point] : search(code_point);
}

}  // namespace tapeformer
