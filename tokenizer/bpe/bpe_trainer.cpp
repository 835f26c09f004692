#include "tokenizer/bpe/bpe_trainer.h"

#include "tokenizer/bpe/pair_index.h"

namespace tapeformer {

std::vector<BpeMerge> learn_merges(std::unique_ptr<PretokenCounts> pretokens, std::int64_t wanted,
                                   const ProgressCallback& progress) {
  PairIndex index(*pretokens);
  pretokens.reset();
  std::vector<BpeMerge> merges;
  BpeMerge merge{};
  while (static_cast<std::int64_t>(merges.size()) < wanted &&
         index.merge_best(256 + static_cast<std::int32_t>(merges.size()), merge)) {
    merges.push_back(merge);
    if (progress && merges.size() % 100 == 0) {
      progress(static_cast<double>(merges.size()) / static_cast<double>(wanted));
    }
  }
  if (progress) progress(1);
  return merges;
}

}  // namespace tapeformer
