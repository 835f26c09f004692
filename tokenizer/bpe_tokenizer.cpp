#include "tokenizer/bpe_tokenizer.h"

#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "autograd/core/error.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {

BpeTokenizer::BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges)
    : Tokenizer(std::move(vocabulary)), merges_(std::move(merges)) {
  id_of_byte_.fill(-1);
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    if (tokens()[id].size() == 1 && !is_special(id)) id_of_byte_[static_cast<std::uint8_t>(tokens()[id][0])] = id;
  }
  for (int byte = 0; byte < 256; ++byte) check(id_of_byte_[byte] >= 0, "byte ", byte, " has no token");
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    rank_of_.emplace(pair_key(merges_[rank].left, merges_[rank].right), static_cast<std::int32_t>(rank));
  }
}

void BpeTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  // Where the ids of each piece met so far stand in `ids`: most pieces of a text are repeats.
  struct Range {
    std::size_t begin, end;
  };
  std::unordered_map<std::string_view, Range> known;
  for_each_piece(text, [&](std::string_view piece) {
    const auto [entry, is_new] = known.try_emplace(piece, Range{ids.size(), 0});
    Range& range = entry->second;
    if (is_new) {
      encode_piece(piece, ids);
      range.end = ids.size();
    } else {
      for (std::size_t i = range.begin; i < range.end; ++i) ids.push_back(ids[i]);
    }
  });
}

// A linked list of symbols, and a heap of the merges possible in it: O(n log n) for any piece.
void BpeTokenizer::encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const {
  check(piece.size() < std::numeric_limits<std::int32_t>::max(), "bpe tokenizer: a piece of ", piece.size(),
        " bytes without a break is too long");
  const auto size = static_cast<std::int32_t>(piece.size());
  constexpr std::int32_t kMerged = -1;
  std::vector<std::int32_t> symbol(size), next(size), previous(size);
  for (std::int32_t i = 0; i < size; ++i) symbol[i] = id_of_byte_[static_cast<std::uint8_t>(piece[i])];
  std::iota(next.begin(), next.end(), 1);
  std::iota(previous.begin(), previous.end(), -1);

  // Rank in the upper half, the place of the left symbol in the lower: the least is the one to do next.
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> candidates;
  const auto consider = [&](std::int32_t left) {
    if (left < 0 || next[left] >= size) return;
    const auto entry = rank_of_.find(pair_key(symbol[left], symbol[next[left]]));
    if (entry != rank_of_.end()) candidates.push(pair_key(entry->second, left));
  };
  for (std::int32_t i = 0; i < size; ++i) consider(i);

  while (!candidates.empty()) {
    const BpeMerge& merge = merges_[candidates.top() >> 32];
    const auto left = static_cast<std::int32_t>(candidates.top() & 0xFFFFFFFF);
    candidates.pop();
    const std::int32_t right = next[left];
    if (symbol[left] != merge.left || right >= size || symbol[right] != merge.right) continue;  // merged meanwhile
    symbol[left] = merge.result;
    symbol[right] = kMerged;
    next[left] = next[right];
    if (next[left] < size) previous[next[left]] = left;
    consider(previous[left]);
    consider(left);
  }
  for (std::int32_t i = 0; i < size; i = next[i]) ids.push_back(symbol[i]);
}

}  // namespace tapeformer
