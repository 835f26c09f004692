// Conversion between tiktoken's ranks of tokens and the ranked pairs of byte pair encoding.
//
// tiktoken merges the two neighbours whose bytes together are the token of the smallest rank, the leftmost first.
// Suppose that a token T is created somewhere in a text. Until then no merge has crossed the bounds of T's bytes, and
// the order of the merges inside depends on nothing outside. So they were the merges that T's bytes alone go through,
// and the last two parts are always the same. Two other tokens that make T together are never neighbours. Therefore one
// pair for each token, with the token's rank, gives the same ids for every text. A token that the merges of its own
// bytes do not reach is never created, except from a whole pretoken. The same holds for ranked pairs, so some of them
// may have no effect.
#pragma once

#include <vector>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

// Longer tokens are refused, since the time grows with the square of the length.
inline constexpr std::size_t kMostTokenBytes = 4096;

struct RankMerges {
  std::vector<BpeMerge> merges;  // sorted by the id of the result
  bool reach_all;                // whether they reach every token
};

// The merges for tokens whose ids are their ranks. Throws Error for a byte without a token, and for a token longer than
// kMostTokenBytes.
RankMerges merges_of_ranks(const Vocabulary& vocabulary);

// The merges that have an effect, by rank. Throws Error for a token longer than kMostTokenBytes.
std::vector<BpeMerge> effective_merges(const BpeTokenizer& tokenizer);

}  // namespace tapeformer
