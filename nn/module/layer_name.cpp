#include "nn/module/layer_name.h"

#include <charconv>

namespace tapeformer {

std::string_view layer_name(std::string_view parameter) {
  for (std::size_t begin = 0, end = 0; end != parameter.npos; begin = end + 1) {
    end = parameter.find('.', begin);
    const std::string_view part = parameter.substr(begin, end - begin);
    if (!part.empty() && part.find_first_not_of("0123456789") == part.npos) return parameter.substr(0, end);
  }
  return {};
}

std::optional<std::int64_t> layer_number(std::string_view parameter) {
  const std::string_view layer = layer_name(parameter), number = layer.substr(layer.rfind('.') + 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace tapeformer
