#include "core/text/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tapeformer {
namespace {

template <class... Values>
std::string print(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) return "?";
  const auto s = static_cast<int>(std::lround(seconds));
  if (s < 60) return print("%ds", s);
  if (s < 3600) return print("%dm%02ds", s / 60, s % 60);
  const auto m = static_cast<int>(std::lround(seconds / 60));
  if (m < 24 * 60) return print("%dh%02dm", m / 60, m % 60);
  const auto h = static_cast<int>(std::lround(seconds / 3600));
  return print("%dd%02dh", h / 24, h % 24);
}

std::string format_count(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::int64_t first = text.starts_with('-') ? 1 : 0;
  for (std::int64_t at = std::ssize(text) - 3; at > first; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string format_rate(double value) {
  if (value < 999.5) return print("%.0f", value);
  const char* unit = "k";
  value /= 1000;
  if (value >= 999.5) {
    value /= 1000;
    unit = "M";
  }
  return print("%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

std::string format_bytes(std::int64_t bytes) {
  const double mb = static_cast<double>(bytes) / 1e6;
  if (mb < 0.95) return print("%.0f kB", 1e3 * mb);
  if (mb < 9.95) return print("%.1f MB", mb);
  if (mb < 999.5) return print("%.0f MB", mb);
  return print("%.*f GB", mb < 99'950 ? 1 : 0, mb / 1000);
}

std::string format_perplexity(double value) {
  if (value < 1e6) return print("%.2f", value);
  std::string text = print("%.1e", value);
  return text.erase(std::min(text.find('+'), text.size()), 1);
}

}  // namespace tapeformer
