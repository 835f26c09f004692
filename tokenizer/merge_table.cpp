#include "tokenizer/merge_table.h"

#include <utility>

namespace tapeformer {

MergeTable::MergeTable(std::vector<BpeMerge> merges, const std::array<std::int32_t, 256>& id_of_byte)
    : merges_(std::move(merges)), id_of_byte_(id_of_byte), by_bytes_(std::size_t{1} << 16) {
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const BpeMerge& merge = merges_[rank];
    by_pair_[pair_key(merge.left, merge.right)] = rank << 32 | static_cast<std::uint32_t>(merge.result);
  }
  for (std::size_t pair = 0; pair < by_bytes_.size(); ++pair) {
    by_bytes_[pair] = find(id_of_byte_[pair >> 8], id_of_byte_[pair & 0xFF]);
  }
}

}  // namespace tapeformer
