// The lines of a text file, with their numbers.
#pragma once

#include <cstddef>
#include <string_view>

namespace tapeformer {

// f(line, number) for each line that is not empty, the first being number 1. Lines end with \n or \r\n.
template <class F>
void for_each_line(std::string_view text, const F& f) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) f(line, number);
  }
}

}  // namespace tapeformer
