// A text on a terminal, its tokens in the colour of their surprisal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

// The token as printable_text(), on a background that is the redder the more bits it has: one shade for two bits, none
// below two, the last one from ten on. A line's end has a sign before it, so that its colour is seen. `bits` is absent
// for a token that is not scored.
std::string colored_token(std::string_view token, std::optional<double> bits);

// A line that shows the shades and the bits they stand for.
std::string color_legend();

}  // namespace tapeformer
