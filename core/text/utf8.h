// Reads and writes UTF-8, one character at a time. Each byte that is not part of valid UTF-8 is read as a separate
// item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapeformer {

inline constexpr std::int32_t kInvalidUtf8 = -1;

struct Utf8Char {
  std::int32_t code_point;  // kInvalidUtf8 if no valid character begins here
  int length;               // in bytes; 1 if invalid
};

// Whether the byte continues a character (10xxxxxx), so that none begins at it.
inline bool is_continuation_byte(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The character that begins at byte `at` < text.size(). Valid means RFC 3629: shortest form, no surrogates, at most
// U+10FFFF.
inline Utf8Char read_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr Utf8Char kInvalid{kInvalidUtf8, 1};
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return kInvalid;
  std::int32_t code_point = lead & (0x7F >> length);
  for (int i = 1; i < length; ++i) {
    if (!is_continuation_byte(text[at + i])) return kInvalid;
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  constexpr std::int32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallest[length] || code_point > 0x10FFFF || surrogate) return kInvalid;
  return {code_point, length};
}

inline void append_utf8(std::string& out, std::int32_t code_point) {
  const auto continuation = [&](int shift) { out += static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | code_point >> 6);
    continuation(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | code_point >> 12);
    continuation(6), continuation(0);
  } else {
    out += static_cast<char>(0xF0 | code_point >> 18);
    continuation(12), continuation(6), continuation(0);
  }
}

// What some programs put at the beginning of a text in UTF-8. It is no part of the text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// The offset of the first byte of the character that contains byte `at`; `at` itself if no character contains it, and
// at the end of the text.
inline std::size_t character_start(std::string_view text, std::size_t at) {
  // A character has at most three continuation bytes (10xxxxxx). A longer run of them is not UTF-8.
  for (std::size_t back = 0; back <= 3 && back <= at && at < text.size(); ++back) {
    if (!is_continuation_byte(text[at - back])) return at - back;
  }
  return at;
}

// The offset of the first byte that is not part of valid UTF-8; npos if there is none.
inline std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text, at);
    if (c.code_point == kInvalidUtf8) return at;
    at += c.length;
  }
  return std::string_view::npos;
}

// Returns the text with U+FFFD in place of each byte that is not part of valid UTF-8.
inline std::string with_valid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text, at);
    append_utf8(out, c.code_point == kInvalidUtf8 ? 0xFFFD : c.code_point);
    at += c.length;
  }
  return out;
}

}  // namespace tapeformer
