// Makes text safe to show: characters that could control a terminal, or change the direction of a line, are escaped.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// The text with an escape for every control character except line end and tab (\x1B, \u009B), for every direction
// control (\u202E) and for every byte that is not UTF-8 (\xFF). Spaces, line ends and all other characters stay.
std::string printable_text(std::string_view text);

// printable_text() of a token, where spaces, line ends and tabs are also shown as signs: "␣", "↵", "⇥".
std::string visible_text(std::string_view token);

}  // namespace tapeformer
