#include "train/config/toml_text.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace tapeformer {
namespace {

// Returns the end of a TOML string that begins at `begin`: its closing quote, or the end of the line or text.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool is_long = text.substr(begin, 3) == three;
  for (std::size_t at = begin + (is_long ? 3 : 1); at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (is_long ? text.substr(at, 3) == three : text[at] == quote || text[at] == '\n') {
      return is_long ? at + 2 : at;
    }
  }
  return text.size();
}

// Throws UsageError for a key of very many parts, a.b.c: the parser, and the code that walks the tables that it makes,
// recurse once for each part. The parser itself limits nested lists and tables.
void require_short_keys(std::string_view text, const std::string& origin) {
  constexpr int kMostParts = 16;
  int dots = 0, line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#') at = std::min(text.find('\n', at), text.size()) - 1;
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(text, at);
      line += static_cast<int>(std::ranges::count(text.substr(at, end - at), '\n'));
      at = end;
    }
    if (c == '\n') ++line;
    const bool in_key =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-\"' \t.").find(c) != std::string_view::npos;
    dots = c == '.' ? dots + 1 : in_key ? dots : 0;
    if (dots >= kMostParts) fail_usage(origin, ":", line, ": a key has more than ", kMostParts, " parts");
  }
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& origin) {
  require_short_keys(text, origin);
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    fail_usage(origin, ":", error.source().begin.line, ": ", error.description());
  }
}

nlohmann::ordered_json read_toml(const std::filesystem::path& path) {
  std::ostringstream json;
  json << toml::json_formatter{parse_toml(read_file(path), path.string())};
  return parse_json<nlohmann::ordered_json>(json.str(), path.string());
}

}  // namespace tapeformer
