// Learning the merges of byte-level BPE.
#pragma once

#include "tokenizer/bpe/bpe_tokenizer.h"
#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

// Returns `wanted` merges, or fewer if no two symbols are side by side any more. Symbols 0..255 are the bytes in
// byte_order(); merge i makes symbol 256 + i. Each merge is the pair that is the most frequent at that time; among
// equally frequent pairs the one with the smallest left id, then the smallest right id. Pairs are counted wherever they
// stand, also where they overlap ("aaa" has two of a, a), but merged from the left, without overlap. The pretokens are
// freed as soon as they are copied.
std::vector<BpeMerge> learn_merges(std::unique_ptr<PretokenCounts> pretokens, std::int64_t wanted,
                                   const ProgressCallback& progress);

}  // namespace tapeformer
