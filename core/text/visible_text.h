// Text that is shown: what could drive a terminal, or turn the direction of a line, is spelled out instead.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// The text with an escape for every control character but the line's end and the tab (\x1B, \u009B), for every control
// of direction (\u202E) and for every byte that is not UTF-8 (\xFF). Spaces, line ends and all other characters stay.
std::string printable_text(std::string_view text);

// printable_text() of a token, in which spaces, line ends and tabs have signs as well: "␣", "↵", "⇥".
std::string visible_text(std::string_view token);

}  // namespace tapeformer
