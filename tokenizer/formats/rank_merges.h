// tiktoken merges by the rank of the joined token, byte pair encoding by the rank of the pair: how the one becomes the
// other.
//
// tiktoken takes, of all neighbours whose bytes together are a token, those of the least token, the leftmost first. Let
// a token T arise somewhere in a text. Until then no merge crossed the bounds of T's bytes, and which merges are next
// within them depends on nothing outside; so they were those that T's bytes by themselves go through, and the last two
// parts are always the same ones. Any other two tokens that make T never stand side by side. Hence one pair for each
// token, with the token's rank, gives the same ids for every text; and a token to whose own bytes the merges do not
// lead arises in no text, other than as a whole pretoken. The same holds for merges by the rank of pairs, of which some
// may therefore be without any effect.
#pragma once

#include <vector>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

// Longer tokens are refused: the time grows with the square.
inline constexpr std::size_t kMostTokenBytes = 4096;

struct RankMerges {
  std::vector<BpeMerge> merges;  // by the id of the result
  bool reach_all;                // whether they lead to every token
};

// The merges by which tokens whose ids are their ranks come about. Throws Error for a byte without a token and for a
// token above kMostTokenBytes.
RankMerges merges_of_ranks(const Vocabulary& vocabulary);

// The merges that have an effect, by rank. Throws Error for a token above kMostTokenBytes.
std::vector<BpeMerge> effective_merges(const BpeTokenizer& tokenizer);

}  // namespace tapeformer
