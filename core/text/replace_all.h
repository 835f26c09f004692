// Replaces parts of a text.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tapeformer {

// Returns the text with `to` in place of every `from`, which must not be empty.
inline std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  while (true) {
    const std::size_t at = std::min(text.find(from), text.size());
    out.append(text.substr(0, at));
    if (at == text.size()) return out;
    out.append(to);
    text.remove_prefix(at + from.size());
  }
}

}  // namespace tapeformer
