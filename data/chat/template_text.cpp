#include "data/chat/template_text.h"

#include "core/error.h"
#include "core/text/utf8.h"
#include "data/chat/template_value.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {
namespace {

// Removes characters at the ends as long as is_removed(text, place) is true.
template <class F>
std::string stripped_while(std::string_view text, const F& is_removed, bool left, bool right) {
  while (left && !text.empty() && is_removed(text, 0)) text.remove_prefix(read_utf8(text, 0).length);
  while (right && !text.empty()) {
    const std::size_t last = character_start(text, text.size() - 1);
    if (!is_removed(text, last)) break;
    text = text.substr(0, last);
  }
  return std::string(text);
}

}  // namespace

std::string stripped_text(std::string_view text, bool left, bool right) {
  const auto is_space = [](std::string_view part, std::size_t at) {
    return is_python_space(read_utf8(part, at).code_point);
  };
  return stripped_while(text, is_space, left, right);
}

std::string stripped_text(std::string_view text, std::string_view characters, bool left, bool right) {
  const auto is_given = [&](std::string_view part, std::size_t at) {
    return characters.find(part.substr(at, read_utf8(part, at).length)) != characters.npos;
  };
  return stripped_while(text, is_given, left, right);
}

std::string replaced_text(const std::string& text, const std::string& before, const std::string& after) {
  check(!before.empty(), "replace: expected a text to replace, got an empty one");
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at; (at = text.find(before, begin)) != text.npos; begin = at + before.size()) {
    out.append(text, begin, at - begin).append(after);
    check(out.size() <= kMostTemplateBytes, "replace: the text has more than ", kMostTemplateBytes, " bytes");
  }
  return out.append(text, begin);
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    static constexpr std::string_view kPlain = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    if (const std::size_t at = kPlain.find(c); at != kPlain.npos) {
      out += '\\', out += kLetters[at];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      static constexpr std::string_view kHex = "0123456789abcdef";
      out += "\\u00", out += kHex[c / 16], out += kHex[c % 16];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tapeformer
