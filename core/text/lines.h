// Splits a text into lines. A line ends with \n or \r\n, which is not part of it; the last line may have no end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tapeformer {

// Removes the first line from a non-empty text, and returns it.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

inline std::int64_t count_lines(std::string_view text) {
  const bool unfinished = !text.empty() && !text.ends_with('\n');
  return std::count(text.begin(), text.end(), '\n') + (unfinished ? 1 : 0);
}

inline std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  lines.reserve(static_cast<std::size_t>(count_lines(text)));
  while (!text.empty()) lines.push_back(take_line(text));
  return lines;
}

// Calls f(line, number) for each line that is not empty. The first line of the text has number 1.
template <class F>
void for_each_line(std::string_view text, const F& f) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!line.empty()) f(line, number);
  }
}

}  // namespace tapeformer
