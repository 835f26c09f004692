// Joins the elements of a list to a text, with a separator between them: "a, b, c".
#pragma once

#include <sstream>
#include <string>
#include <string_view>

namespace tapeformer {

template <class List>
std::string joined(const List& list, std::string_view separator) {
  std::ostringstream text;
  std::string_view before;
  for (const auto& element : list) {
    text << before << element;
    before = separator;
  }
  return text.str();
}

}  // namespace tapeformer
