// Learns the merges of byte-level BPE.
#pragma once

#include "tokenizer/bpe/bpe_tokenizer.h"
#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

// At most `wanted` merges, fewer when no two symbols stand side by side any more. Symbols 0..255 are the bytes in
// byte_order(); merge i makes symbol 256 + i. Each merge is the most frequent pair then; of equally frequent ones the
// one with the smallest left id, then the smallest right id. Pairs are found from the left, without overlap. The
// pretokens are freed once they are laid out.
std::vector<BpeMerge> learn_merges(std::unique_ptr<PretokenCounts> pretokens, std::int64_t wanted,
                                   const MergeProgress& progress);

}  // namespace tapeformer
