// The words that merges are learned from, and an index of where frequent pairs occur in them.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "tokenizer/bpe/merge_table.h"
#include "tokenizer/bpe/pair_map.h"
#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/bpe/symbol_cells.h"

namespace tapeformer {

// Memory: 4 bytes for each byte of the distinct words, about the same for the places of the indexed pairs, and 8 MB.
//
// Only pairs that occur at least `threshold_` times are indexed. The count of a pair never grows: all its places are
// created by the one merge that creates the newer of its two symbols, and later merges only remove places. So a pair
// below the threshold stays below it, and the best indexed pair is the best of all. When the index is empty, the
// threshold is lowered and the index is built again from the words, which hold the whole state.
class PairIndex {
 public:
  // Symbols 0..255 are the bytes in byte_order(). Throws Error when there are too many bytes to index.
  explicit PairIndex(const PretokenCounts& pretokens);
  PairIndex(const PairIndex&) = delete;
  PairIndex& operator=(const PairIndex&) = delete;

  // Replaces the most frequent pair by the new symbol `result` everywhere, from the left and without overlap, and tells
  // which pair it was. Among equally frequent pairs it takes the one with the smallest left id, then the smallest right
  // id. Returns false if no pair is left.
  bool merge_best(std::int32_t result, BpeMerge& merge);

 private:
  struct Pair {
    std::int64_t count = 0;             // a place counts as many times as its word occurs
    std::vector<std::uint32_t> places;  // cells of left symbols, ascending; some may be out of date
  };
  struct Candidate {
    std::int64_t count;
    std::uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };
  // Words with the same count, which are stored together.
  struct WordGroup {
    std::uint32_t end;  // of its cells
    std::int64_t weight;
  };
  // Counts all pairs (new symbol, x), or all pairs (x, new symbol), for one symbol x.
  struct Tally {
    std::int64_t count = 0;
    std::uint32_t places = 0;
  };
  struct NewPlace {
    std::uint32_t at;
    std::int32_t other;  // the id of the symbol next to the new one
    bool other_is_left;
  };

  void lay_out(const PretokenCounts& pretokens);
  // Calls f(cell of the left symbol, key, weight) for every pair of neighbours in the words.
  template <class F>
  void for_each_pair(const F& f) const;
  void index_pairs();
  void replace(const BpeMerge& merge, const std::vector<std::uint32_t>& places);
  void add_new(std::uint32_t at, std::int32_t other, bool other_is_left, std::int64_t weight);
  void remove(std::int32_t left, std::int32_t right, std::int64_t weight);
  void index_new_pairs(std::int32_t result);

  std::vector<std::uint32_t> lengths_;  // of symbols, in bytes
  SymbolCells words_;
  std::vector<WordGroup> groups_;
  std::int64_t threshold_ = 1;  // the threshold of the present index
  PairMap<Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  // The counts for the present merge, by the id of the other symbol.
  std::vector<Tally> left_tally_, right_tally_;
  std::vector<NewPlace> new_places_;
};

}  // namespace tapeformer
