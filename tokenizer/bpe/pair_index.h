// The words to learn merges from, and where the pairs worth merging stand in them.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "tokenizer/bpe/merge_table.h"
#include "tokenizer/bpe/pair_map.h"
#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/bpe/symbol_cells.h"

namespace tapeformer {

// Memory: 4 bytes for each byte of the distinct words, about as much again for the places of the pairs indexed, and 8
// MB.
//
// Only pairs that occur `threshold_` times or more are indexed. A pair's count never grows: all its places arise when
// the newer one of its symbols does, by one merge, and from then on other merges take them away. So what was below the
// threshold stays there, and the best pair of the index is the best of all. When none is left in it, the threshold is
// lowered and the index made anew from the words, which keep the whole state.
class PairIndex {
 public:
  // Symbols 0..255 are the bytes in byte_order(). Throws Error where there are too many bytes to index.
  explicit PairIndex(const PretokenCounts& pretokens);
  PairIndex(const PairIndex&) = delete;
  PairIndex& operator=(const PairIndex&) = delete;

  // Takes the most frequent pair (of equally frequent ones the one with the smallest left id, then the smallest right
  // id), turns it into `result`, the next id, wherever it stands, from the left without overlap; says whether there was
  // one.
  bool merge_best(std::int32_t result, BpeMerge& merge);

 private:
  struct Pair {
    std::int64_t count = 0;             // every place weighs as often as its word occurs
    std::vector<std::uint32_t> places;  // cells of left symbols, ascending; some may be out of date
  };
  struct Candidate {
    std::int64_t count;
    std::uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };
  // Words that occur equally often lie side by side.
  struct Stretch {
    std::uint32_t end;  // of its cells
    std::int64_t weight;
  };
  // Of the pairs that one symbol forms with a new one, in one order.
  struct Tally {
    std::int64_t count = 0;
    std::uint32_t places = 0;
  };
  struct NewPlace {
    std::uint32_t at;
    std::int32_t other;  // id of the symbol beside the new one
    bool other_is_left;
  };

  void lay_out(const PretokenCounts& pretokens);
  // Calls f(cell of the left symbol, key, weight) for every pair that stands in the words.
  template <class F>
  void for_each_pair(const F& f) const;
  void index_pairs();
  void replace(const BpeMerge& merge, const std::vector<std::uint32_t>& places);
  void add_new(std::uint32_t at, std::int32_t other, bool other_is_left, std::int64_t weight);
  void remove(std::int32_t left, std::int32_t right, std::int64_t weight);
  void index_new_pairs(std::int32_t result);

  std::vector<std::uint32_t> lengths_;  // of symbols, in bytes
  SymbolCells words_;
  std::vector<Stretch> stretches_;
  std::int64_t threshold_ = 1;  // that of the index once it is made
  PairMap<Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  // Of the merge at hand, by the id of the other symbol.
  std::vector<Tally> left_tally_, right_tally_;
  std::vector<NewPlace> new_places_;
};

}  // namespace tapeformer
