#include "core/text/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace tapeformer {

namespace {

// Only this many characters of a name are compared: no known name is as long, and a name may be a whole text.
constexpr std::size_t kMaxCompared = 100;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxCompared), b = b.substr(0, kMaxCompared);
  // row[j] is the distance between the first i letters of a and the first j letters of b.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  return *std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
}

bool is_near(std::string_view name, std::string_view known) {
  const std::size_t wrong = name.size() < 4 ? 1 : std::max<std::size_t>(2, name.size() / 3);
  return edit_distance(name, known) <= wrong;
}

}  // namespace tapeformer
