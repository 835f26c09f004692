#include "cli/terminal/surprisal_colors.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/text/visible_text.h"

namespace tapeformer {
namespace {

constexpr double kBitsPerShade = 2;
// The shades are colour numbers of xterm's 256-colour palette.
constexpr std::array<int, 5> kShades{224, 217, 210, 203, 196};

// Writes black text on shade number i.
std::string on_shade(std::size_t i, std::string_view text) {
  return "\x1b[38;5;16;48;5;" + std::to_string(kShades[i]) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace

std::string colored_token(std::string_view token, std::optional<double> bits) {
  if (!bits || *bits < kBitsPerShade) return printable_text(token);
  const auto shade = static_cast<std::size_t>(std::min<double>(*bits / kBitsPerShade, kShades.size())) - 1;
  std::string text;
  while (!token.empty()) {  // a background colour that continues over a line end would fill the rest of the line
    const std::size_t end = std::min(token.find('\n'), token.size());
    const bool has_end = end < token.size();
    text += on_shade(shade, printable_text(token.substr(0, end)) + (has_end ? "↵" : "")) + (has_end ? "\n" : "");
    token.remove_prefix(end + (has_end ? 1 : 0));
  }
  return text;
}

std::string color_legend() {
  std::string legend = "bits:  0 ";
  for (std::size_t i = 0; i < kShades.size(); ++i) {
    const auto bits = static_cast<int>(kBitsPerShade * static_cast<double>(i + 1));
    legend += on_shade(i, " " + std::to_string(bits) + " ");
  }
  return legend + " or more";
}

}  // namespace tapeformer
