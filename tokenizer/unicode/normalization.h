// Unicode's normalization forms D and C, and the categories of characters that BERT's normalizer distinguishes, as
// Hugging Face's tokenizers have them (make_unicode_tables.pl names the versions of Unicode).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// The characters of a text. A byte that is not part of valid UTF-8 is -1 - byte.
using CodePoints = std::vector<std::int32_t>;

CodePoints code_points(std::string_view text);
// The inverse of code_points().
std::string to_utf8(const CodePoints& characters);

// Canonical decomposition: characters are replaced by their parts, and marks sorted by their combining class.
CodePoints nfd(const CodePoints& characters);
// Canonical decomposition, then composition.
std::string nfc(std::string_view text);

// other: none of them. control: Cc, Cf and Co. mark: Mn. punctuation: P, and all symbols of ASCII.
enum class Category : std::uint8_t { other, control, mark, punctuation };
Category category(std::int32_t code_point);

// Appends the lower case of a character: itself if it has none. U+0130 becomes two characters.
void append_lower(CodePoints& out, std::int32_t code_point);

}  // namespace tapeformer
