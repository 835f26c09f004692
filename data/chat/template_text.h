// What chat templates do with strings, by Python's rules.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// Returns the text without white space at its left end, its right end, or both, as str.strip() does.
std::string stripped_text(std::string_view text, bool left, bool right);
// Returns it without those characters at its ends that are among the given ones.
std::string stripped_text(std::string_view text, std::string_view characters, bool left, bool right);
// Returns the text with `after` in place of each `before`. Throws Error if `before` is empty, and for a result of more
// than kMostTemplateBytes.
std::string replaced_text(const std::string& text, const std::string& before, const std::string& after);
// Returns the text as a JSON string that json.dumps(text, ensure_ascii=False) writes.
std::string json_string(std::string_view text);

}  // namespace tapeformer
