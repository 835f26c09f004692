// Writes file names into commands that people copy to a shell.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "core/text/replace_all.h"

namespace tapeformer {

// Returns the file name as a word of a command: in quotes if a shell would read it in another way, and never as an
// option.
inline std::string shell_word(std::string_view name) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./+:@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  std::string word(name.starts_with('-') ? "./" : "");
  word += name;
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  return "'" + replace_all(word, "'", "'\\''") + "'";
}

}  // namespace tapeformer
