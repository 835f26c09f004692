// Splits text into the pieces within which tokens lie, by GPT-2's pattern (Radford et al. 2019, encoder.py):
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// A byte that is not valid UTF-8 counts as one character of the class [^\s\p{L}\p{N}]. Pieces put one after another are
// the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tapeformer {

// Where the piece ends that begins at byte `begin` < text.size().
std::size_t piece_end(std::string_view text, std::size_t begin);

// Calls f(piece) for every piece, in order.
template <class F>
void for_each_piece(std::string_view text, const F& f) {
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = piece_end(text, begin);
    f(text.substr(begin, end - begin));
  }
}

struct PieceCount {
  std::string_view piece;
  std::int64_t count;
};

// The distinct pieces of the texts (each split by itself), in the order of their first occurrence.
std::vector<PieceCount> count_pieces(std::span<const std::string_view> texts);

}  // namespace tapeformer
