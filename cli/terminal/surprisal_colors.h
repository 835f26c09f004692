// Shows a text on a terminal, each token on the colour of its surprisal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

// The token as printable_text(), on a background that is redder for more bits: no colour below 2 bits, then a shade for
// every 2 bits, and the last shade from 10 bits on. "↵" is shown before a line end, so that its colour can be seen.
// `bits` is nullopt for a token that is not scored.
std::string colored_token(std::string_view token, std::optional<double> bits);

// A line that shows the shades and their numbers of bits.
std::string color_legend();

}  // namespace tapeformer
