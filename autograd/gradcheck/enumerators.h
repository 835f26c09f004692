// The enumerators of an enum, so that the op table has a row for every mode of an op without naming the modes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapeformer {

template <class E>
struct Enumerator {
  E value;
  std::string name;
};

namespace detail {

// The compiler writes kValue's name into the function's: "… kValue = tapeformer::ActivationKind::relu; …", or
// "… kValue = (tapeformer::ActivationKind)7; …" for a value that has no enumerator. Empty for the latter.
template <auto kValue>
constexpr std::string_view enumerator_name() {
  const std::string_view function = __PRETTY_FUNCTION__, key = "kValue = ";
  const std::size_t begin = function.find(key) + key.size();
  const std::string_view value = function.substr(begin, function.find_first_of(";]", begin) - begin);
  const std::string_view name = value.substr(value.find_last_of(":)") + 1);
  return name.front() >= '0' && name.front() <= '9' ? std::string_view() : name;
}

}  // namespace detail

// Those with values from 0 to 63, in that order.
template <class E>
std::vector<Enumerator<E>> enumerators() {
  std::vector<Enumerator<E>> all;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    const auto add = [&](E value, std::string_view name) {
      if (!name.empty()) all.push_back({value, std::string(name)});
    };
    (add(static_cast<E>(I), detail::enumerator_name<static_cast<E>(I)>()), ...);
  }
  (std::make_integer_sequence<int, 64>());
  return all;
}

}  // namespace tapeformer
