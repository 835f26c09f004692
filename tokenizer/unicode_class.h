// The classes of characters that the split patterns distinguish.
#pragma once

#include <cstdint>

namespace tapeformer {

enum class CharClass : std::uint8_t { other, letter, number, space };

// The class of a code point from read_utf8(): \p{L}, \p{N}, \s (Unicode's White_Space), or other. kInvalidUtf8 is
// other. unicode_ranges.inc names the version of Unicode.
CharClass char_class(std::int32_t code_point);

}  // namespace tapeformer
