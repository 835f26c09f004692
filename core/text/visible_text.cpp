#include "core/text/visible_text.h"

#include <cstdio>

#include "core/text/utf8.h"

namespace tapeformer {
namespace {

// Whether c is a C1 control character (U+0080 to U+009F), which a terminal may obey as it does ASCII controls.
bool is_c1_control(std::int32_t c) { return c >= 0x80 && c < 0xA0; }

// Whether c is a separator of lines or paragraphs, or an embedding, override or isolate of the bidirectional algorithm.
bool changes_lines_or_direction(std::int32_t c) { return (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069); }

// `space`, `line_end` and `tab` replace those characters.
std::string escape(std::string_view text, const char* space, const char* line_end, const char* tab) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code_point, length] = read_utf8(text, at);
    char escaped[16];
    if (code_point == ' ') {
      shown += space;
    } else if (code_point == '\n') {
      shown += line_end;
    } else if (code_point == '\t') {
      shown += tab;
    } else if (code_point < 0x20 || code_point == 0x7F) {  // a control character, or no valid character
      std::snprintf(escaped, sizeof escaped, "\\x%02X", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
      shown += escaped;
    } else if (is_c1_control(code_point) || changes_lines_or_direction(code_point)) {
      std::snprintf(escaped, sizeof escaped, "\\u%04X", static_cast<unsigned>(code_point));
      shown += escaped;
    } else {
      shown += text.substr(at, static_cast<std::size_t>(length));
    }
    at += static_cast<std::size_t>(length);
  }
  return shown;
}

}  // namespace

std::string printable_text(std::string_view text) { return escape(text, " ", "\n", "\t"); }
std::string visible_text(std::string_view token) { return escape(token, "␣", "↵", "⇥"); }

}  // namespace tapeformer
