#include "tokenizer/bpe/long_pretoken_encoder.h"

#include "core/error.h"

namespace tapeformer {
namespace {

// A vector with more elements is freed after a pretoken; a smaller one is kept for the next.
constexpr std::size_t kKept = 4096;

}  // namespace

void LongPretokenEncoder::encode(std::string_view pretoken, std::vector<std::int32_t>& ids) {
  check(pretoken.size() + 2 < SymbolCells::kMostCells, "bpe tokenizer: a pretoken of ", pretoken.size(),
        " bytes without a break is too long");
  std::vector<std::int32_t>& cells = word_.cells();
  cells.resize(pretoken.size() + 2);
  cells.front() = cells.back() = SymbolCells::kEnd;
  for (std::size_t i = 0; i < pretoken.size(); ++i) cells[i + 1] = merges_.id_of_byte(pretoken[i]);
  waiting_.resize(merges_.merges().size());
  for (std::uint32_t at = 1; at < pretoken.size(); ++at) consider(at);
  while (!ranks_.empty()) {
    const std::int32_t rank = ranks_.top();
    ranks_.pop();
    if (!merge_waiting(rank)) ranks_.push(rank);
  }
  for (std::uint32_t at = 1; word_.symbol(at) != SymbolCells::kEnd; at = word_.next(at))
    ids.push_back(word_.symbol(at));
  if (cells.size() > kKept) cells = {};
}

void LongPretokenEncoder::consider(std::uint32_t left) {
  const std::int32_t symbol = word_.symbol(left);
  if (symbol == SymbolCells::kEnd) return;
  const std::int32_t next = word_.symbol(word_.next(left));
  if (next == SymbolCells::kEnd) return;
  const MergeTable::Candidate candidate = merges_.find(symbol, next);
  if (candidate == MergeTable::kNone) return;
  const std::int32_t rank = MergeTable::rank_of(candidate);
  Waiting& waiting = waiting_[rank];
  if (waiting.places.empty()) ranks_.push(rank);
  waiting.places.push_back(left);
}

bool LongPretokenEncoder::merge_waiting(std::int32_t rank) {
  const BpeMerge& merge = merges_.merges()[rank];
  Waiting& waiting = waiting_[rank];
  std::vector<std::uint32_t>& places = waiting.places;
  while (waiting.next < places.size()) {
    if (!ranks_.empty() && ranks_.top() < rank) return false;
    const std::uint32_t at = places[waiting.next++];
    if (!word_.is_pair(at, merge.left, merge.right)) continue;  // one of them was merged before
    // No pair of this rank can arise: its symbols are shorter than the result.
    word_.merge(at, merge.result);
    consider(word_.previous(at));
    consider(at);
  }
  if (places.capacity() > kKept) places = {};
  places.clear();
  waiting.next = 0;
  return true;
}

}  // namespace tapeformer
