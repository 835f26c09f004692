#include "tokenizer/pretokenizer.h"

#include <unordered_map>

#include "tokenizer/unicode_class.h"
#include "tokenizer/utf8.h"

namespace tapeformer {
namespace {

struct Char {
  CharClass char_class;
  int length;
};

Char char_at(std::string_view text, std::size_t at) {
  const Utf8Char c = read_utf8(text, at);
  return {char_class(c.code_point), c.length};
}

// Length of 's, 't, 're, 've, 'm, 'll or 'd at `begin`; 0 for none.
std::size_t contraction_length(std::string_view text, std::size_t begin) {
  if (text[begin] != '\'') return 0;
  const std::string_view next = text.substr(begin + 1, 2);
  if (next == "re" || next == "ve" || next == "ll") return 3;
  return !next.empty() && std::string_view("stmd").find(next[0]) != std::string_view::npos ? 2 : 0;
}

// The end of the run of one class that goes on at `at`.
std::size_t run_end(std::string_view text, std::size_t at, CharClass char_class) {
  while (at < text.size()) {
    const Char c = char_at(text, at);
    if (c.char_class != char_class) break;
    at += c.length;
  }
  return at;
}

}  // namespace

std::size_t piece_end(std::string_view text, std::size_t begin) {
  if (const std::size_t length = contraction_length(text, begin)) return begin + length;
  const Char first = char_at(text, begin);
  std::size_t at = begin + first.length;
  if (first.char_class != CharClass::space) return run_end(text, at, first.char_class);
  if (text[begin] == ' ' && at < text.size()) {
    const Char second = char_at(text, at);
    if (second.char_class != CharClass::space) return run_end(text, at + second.length, second.char_class);
  }
  // White space. Before anything else, \s+(?!\S) leaves the last one to the next piece, unless it is the only one.
  std::size_t last = begin;
  while (at < text.size()) {
    const Char c = char_at(text, at);
    if (c.char_class != CharClass::space) return last > begin ? last : at;
    last = at;
    at += c.length;
  }
  return at;
}

std::vector<PieceCount> count_pieces(std::span<const std::string_view> texts) {
  std::vector<PieceCount> pieces;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const std::string_view text : texts) {
    for_each_piece(text, [&](std::string_view piece) {
      const auto [entry, is_new] = places.try_emplace(piece, pieces.size());
      if (is_new) pieces.push_back({piece, 0});
      ++pieces[entry->second].count;
    });
  }
  return pieces;
}

}  // namespace tapeformer
