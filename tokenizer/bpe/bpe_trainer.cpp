#include "tokenizer/bpe/bpe_trainer.h"

#include "tokenizer/bpe/pair_index.h"

namespace tapeformer {

std::vector<BpeMerge> learn_merges(std::unique_ptr<PretokenCounts> pretokens, std::int64_t wanted,
                                   const MergeProgress& progress) {
  PairIndex index(*pretokens);
  pretokens.reset();
  std::vector<BpeMerge> merges;
  BpeMerge merge{};
  const auto tell = [&] {
    if (progress) progress(static_cast<std::int64_t>(merges.size()), wanted);
  };
  while (static_cast<std::int64_t>(merges.size()) < wanted &&
         index.merge_best(256 + static_cast<std::int32_t>(merges.size()), merge)) {
    merges.push_back(merge);
    if (merges.size() % 100 == 0) tell();
  }
  tell();
  return merges;
}

}  // namespace tapeformer
