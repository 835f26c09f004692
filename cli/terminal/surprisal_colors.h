// Shows a text on a terminal, each token on the colour of its surprisal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

// The token as printable_text(), on a background that is redder for more bits: one shade for every two bits, none below
// two, the last one from ten on. A line end has a visible sign before it, so that its colour can be seen. `bits` is
// nullopt for a token that is not scored.
std::string colored_token(std::string_view token, std::optional<double> bits);

// A line that shows the shades and their numbers of bits.
std::string color_legend();

}  // namespace tapeformer
