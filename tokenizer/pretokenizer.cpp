#include "tokenizer/pretokenizer.h"

#include <algorithm>
#include <array>

#include "core/text/utf8.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {
namespace {

using enum CharClass;

constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

constexpr auto kAsciiClass = [] {
  std::array<CharClass, 128> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = letter;
  for (int c = '0'; c <= '9'; ++c) classes[c] = number;
  for (int c = '\t'; c <= '\r'; ++c) classes[c] = space;
  classes[' '] = space;
  return classes;
}();

struct Char {
  CharClass char_class;
  int length;
};

Char read_beyond_ascii(std::string_view text, std::size_t at) {
  const Utf8Char c = read_utf8(text, at);
  return {char_class(c.code_point), c.length};
}

inline Char char_at(std::string_view text, std::size_t at) {
  if (is_ascii(text[at])) return {kAsciiClass[static_cast<std::size_t>(text[at])], 1};
  return read_beyond_ascii(text, at);
}

// The end of a run of characters of one class, of which the characters before `at` are read.
std::size_t run_end(std::string_view text, std::size_t at, CharClass char_class) {
  while (at < text.size()) {
    const Char c = char_at(text, at);
    if (c.char_class != char_class) break;
    at += c.length;
  }
  return at;
}

bool is_newline(char c) { return c == '\n' || c == '\r'; }

// The length of 's, 't, 're, 've, 'm, 'll or 'd at `begin`, where there is an apostrophe; 0 if it is none of them.
std::size_t contraction_length(std::string_view text, std::size_t begin, SplitPattern pattern) {
  char next[2] = {};
  const std::string_view rest = text.substr(begin + 1, 2);
  std::copy(rest.begin(), rest.end(), next);
  if (pattern == SplitPattern::cl100k || pattern == SplitPattern::qwen2) {
    if (rest == "\u017F") return 3;
    for (char& c : next) {
      if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    }
  }
  if (next[0] == 's' || next[0] == 't' || next[0] == 'm' || next[0] == 'd') return 2;
  if ((next[0] == 'r' || next[0] == 'v') && next[1] == 'e') return 3;
  return next[0] == 'l' && next[1] == 'l' ? 3 : 0;
}

struct Spaces {
  std::size_t end;           // the end of the run
  std::size_t last;          // where its last character begins
  std::size_t newlines_end;  // the end of its last newline; 0 if it has none
};

// The run of white space that begins at `begin`.
Spaces spaces_at(std::string_view text, std::size_t begin) {
  Spaces spaces{begin, begin, 0};
  while (spaces.end < text.size()) {
    const Char c = char_at(text, spaces.end);
    if (c.char_class != space) break;
    spaces.last = spaces.end;
    spaces.end += c.length;
    if (is_newline(text[spaces.last])) spaces.newlines_end = spaces.end;
  }
  return spaces;
}

// \s+(?!\S)|\s+: if something follows, the last character belongs to the next pretoken, unless it is the only one. For
// smollm, numbers do not count as something.
std::size_t spaces_end(std::string_view text, std::size_t begin, const Spaces& spaces) {
  return spaces.end < text.size() && spaces.last > begin ? spaces.last : spaces.end;
}

std::size_t pretoken_end_gpt2(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'') {
    if (const std::size_t length = contraction_length(text, begin, SplitPattern::gpt2)) return begin + length;
  }
  const Char first = char_at(text, begin);
  const std::size_t at = begin + first.length;
  if (first.char_class != space) return run_end(text, at, first.char_class);
  if (text[begin] == ' ' && at < text.size()) {
    const Char second = char_at(text, at);
    if (second.char_class != space) return run_end(text, at + second.length, second.char_class);
  }
  return spaces_end(text, begin, spaces_at(text, begin));
}

std::size_t pretoken_end_smollm(std::string_view text, std::size_t begin) {
  const Char first = char_at(text, begin);
  if (first.char_class == number) return begin + first.length;
  if (first.char_class == space) {
    const Spaces spaces = spaces_at(text, begin);
    if (spaces.end < text.size() && char_at(text, spaces.end).char_class == number) return spaces.end;
  }
  return pretoken_end_gpt2(text, begin);
}

// The end of [^\s\p{L}\p{N}]+[\r\n]*, of which the characters before `at` are read.
std::size_t symbols_end(std::string_view text, std::size_t at) {
  at = run_end(text, at, other);
  while (at < text.size() && is_newline(text[at])) ++at;
  return at;
}

// Splits as cl100k does, or as qwen2, whose numbers have one digit.
std::size_t pretoken_end_cl100k(std::string_view text, std::size_t begin, int digits) {
  if (text[begin] == '\'') {
    if (const std::size_t length = contraction_length(text, begin, SplitPattern::cl100k)) return begin + length;
  }
  const Char first = char_at(text, begin);
  std::size_t at = begin + first.length;
  if (first.char_class == letter) return run_end(text, at, letter);
  if (first.char_class == number) {  // \p{N}{1,3} or \p{N}
    for (int i = 1; i < digits && at < text.size(); ++i) {
      const Char c = char_at(text, at);
      if (c.char_class != number) break;
      at += c.length;
    }
    return at;
  }
  const Char second = at < text.size() ? char_at(text, at) : Char{space, 0};
  if (second.char_class == letter && !is_newline(text[begin])) return run_end(text, at + second.length, letter);
  if (first.char_class == other) return symbols_end(text, at);
  if (text[begin] == ' ' && second.char_class == other) return symbols_end(text, at + second.length);
  const Spaces spaces = spaces_at(text, begin);
  return spaces.newlines_end > 0 ? spaces.newlines_end : spaces_end(text, begin, spaces);  // \s*[\r\n]+
}

}  // namespace

std::size_t pretoken_end(std::string_view text, std::size_t begin, SplitPattern pattern) {
  switch (pattern) {
    case SplitPattern::gpt2:
      return pretoken_end_gpt2(text, begin);
    case SplitPattern::smollm:
      return pretoken_end_smollm(text, begin);
    default:
      return pretoken_end_cl100k(text, begin, pattern == SplitPattern::qwen2 ? 1 : 3);
  }
}

bool word_ends(std::string_view text, std::size_t at) {
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && is_continuation_byte(text[begin])) --begin;
  const Char c = char_at(text, begin);
  return begin + c.length == at && (c.char_class == letter || c.char_class == number);
}

std::size_t safe_cut(std::string_view text, std::size_t from) {
  for (std::size_t at = std::max<std::size_t>(from, 1); at < text.size(); ++at) {
    if (is_ascii(text[at]) && kAsciiClass[static_cast<std::size_t>(text[at])] == space && word_ends(text, at))
      return at;
  }
  return text.size();
}

std::vector<std::string_view> cut_texts(std::span<const std::string_view> texts, std::size_t part_bytes) {
  std::vector<std::string_view> parts;
  for (std::string_view rest : texts) {
    while (!rest.empty()) {
      parts.push_back(rest.substr(0, safe_cut(rest, part_bytes)));
      rest.remove_prefix(parts.back().size());
    }
  }
  return parts;
}

}  // namespace tapeformer
