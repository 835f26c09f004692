// Byte pair encoding of pretokens of any length, in time about proportional to the length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string_view>
#include <vector>

#include "tokenizer/bpe/merge_table.h"
#include "tokenizer/bpe/symbol_cells.h"

namespace tapeformer {

// A queue holds the places where a merge is possible: the smallest rank first, and within a rank in the order of the
// text. A merge may make another one of a smaller rank possible (in a vocabulary that was not learned in the order of
// its ranks); that one is done first.
//
// The places of a rank need not be sorted, because they are found in the order of the text. Each token arises by the
// same merges wherever it occurs (rank_merges.h). The merge of the greatest rank among them decides when it arises, and
// the merges of one rank are done from left to right, so equal tokens arise from left to right too.
class LongPretokenEncoder {
 public:
  LongPretokenEncoder(const MergeTable& merges, const std::vector<std::uint32_t>& lengths)
      : merges_(merges), word_(lengths) {}

  // Appends the ids of `pretoken`. Throws Error if it has 2 GB or more.
  void encode(std::string_view pretoken, std::vector<std::int32_t>& ids);

 private:
  struct Waiting {
    std::vector<std::uint32_t> places;  // the cells of left symbols; some may be out of date
    std::size_t next = 0;
  };

  void consider(std::uint32_t left);
  // Does the merges of this rank. Returns false if it stopped because a merge of a smaller rank became possible.
  bool merge_waiting(std::int32_t rank);

  const MergeTable& merges_;
  SymbolCells word_;
  std::vector<Waiting> waiting_;                                                        // by rank
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ranks_;  // the ranks that have places
};

}  // namespace tapeformer
