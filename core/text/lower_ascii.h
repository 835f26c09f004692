// Small letters for names that are compared whatever their case.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// Returns the text with A to Z as a to z; other letters stay.
inline std::string lower_ascii(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

}  // namespace tapeformer
