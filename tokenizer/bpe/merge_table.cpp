#include "tokenizer/bpe/merge_table.h"

#include <algorithm>
#include <utility>

namespace tapeformer {

std::array<std::int32_t, 256> ids_of_bytes(std::span<const std::string> tokens,
                                           std::span<const std::int32_t> ordinary_ids) {
  std::array<std::int32_t, 256> id_of_byte;
  id_of_byte.fill(-1);
  for (const std::int32_t id : ordinary_ids) {
    if (tokens[id].size() == 1) id_of_byte[static_cast<std::uint8_t>(tokens[id][0])] = id;
  }
  return id_of_byte;
}

MergeTable::MergeTable(std::vector<BpeMerge> merges, const std::array<std::int32_t, 256>& id_of_byte)
    : merges_(std::move(merges)),
      id_of_byte_(id_of_byte),
      has_all_bytes_(std::find(id_of_byte.begin(), id_of_byte.end(), -1) == id_of_byte.end()),
      by_bytes_(std::size_t{1} << 16, kNone) {
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const BpeMerge& merge = merges_[rank];
    by_pair_[pair_key(merge.left, merge.right)] = rank << 32 | static_cast<std::uint32_t>(merge.result);
  }
  for (std::size_t pair = 0; pair < by_bytes_.size(); ++pair) {
    const std::int32_t left = id_of_byte_[pair >> 8], right = id_of_byte_[pair & 0xFF];
    if (left >= 0 && right >= 0) by_bytes_[pair] = find(left, right);
  }
}

}  // namespace tapeformer
