// Joins the elements of a list to a text, with a separator between them: "a, b, c".
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <string_view>

namespace tapeformer {

// With a projection, joins what it makes of each element: joined(rows, ", ", &Row::name).
template <class List, class Projection = std::identity>
std::string joined(const List& list, std::string_view separator, const Projection& projection = {}) {
  std::ostringstream text;
  std::string_view before;
  for (const auto& element : list) {
    text << before << std::invoke(projection, element);
    before = separator;
  }
  return text.str();
}

}  // namespace tapeformer
