// The classes of characters that pre-tokenisation tells apart.
#pragma once

#include <cstdint>

namespace tapeformer {

enum class CharClass : std::uint8_t { other, letter, number, space };

// Of what read_utf8() gives: \p{L}, \p{N}, \s (Unicode's White_Space), or other; kInvalidUtf8 is other. The Unicode
// version stands in unicode_ranges.inc.
CharClass char_class(std::int32_t code_point);

}  // namespace tapeformer
