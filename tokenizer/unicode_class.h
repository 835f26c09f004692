// The classes of characters that the split patterns distinguish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapeformer {

enum class CharClass : std::uint8_t { other, letter, number, space };

// The class of a code point from read_utf8(): \p{L}, \p{N}, \s (Unicode's White_Space), or other. kInvalidUtf8 is
// other. unicode_ranges.inc names the version of Unicode.
CharClass char_class(std::int32_t code_point);

// Where the white space (\s) before `end` begins, at `begin` or later.
std::size_t white_space_begin(std::string_view text, std::size_t begin, std::size_t end);
// Where the white space from `at` on ends.
std::size_t white_space_end(std::string_view text, std::size_t at);
// Whether there is nothing but white space.
inline bool is_white_space(std::string_view text) { return white_space_end(text, 0) == text.size(); }

// Whether Python's str.split() and str.strip() take the code point for white space: besides \s, four control
// characters.
inline bool is_python_space(std::int32_t code_point) {
  return (code_point >= 0x1C && code_point <= 0x1F) || char_class(code_point) == CharClass::space;
}

}  // namespace tapeformer
