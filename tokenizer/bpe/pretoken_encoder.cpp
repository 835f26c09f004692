#include "tokenizer/bpe/pretoken_encoder.h"

#include <algorithm>

namespace tapeformer {

void PretokenEncoder::encode(std::string_view pretoken, std::vector<std::int32_t>& ids) {
  if (pretoken.size() > PretokenKey::kMostBytes) {
    if (pretoken.size() > kShort) return long_pretokens_.encode(pretoken, ids);
    return encode_short(pretoken, ids);
  }
  const PretokenKey key(pretoken);
  Remembered& entry = remembered_[key.hash() % kRemembered];
  if (entry.key == key) {
    for (std::size_t i = 0; i < kMostIds && entry.ids[i] >= 0; ++i) ids.push_back(entry.ids[i]);
    return;
  }
  const std::size_t begin = ids.size();
  encode_short(pretoken, ids);
  const std::size_t count = ids.size() - begin;
  if (count > kMostIds) return;
  entry.key = key;
  entry.ids.fill(-1);
  std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(begin), count, entry.ids.begin());
}

// Looks for the smallest rank among all symbols before each merge, which is the fastest way for few symbols.
template <class Visit>
std::size_t PretokenEncoder::merge_symbols(std::string_view pretoken, Symbols& symbol, const Visit& visit) const {
  std::array<MergeTable::Candidate, kShort> candidate;  // of a symbol and the next one
  std::size_t size = pretoken.size();
  for (std::size_t i = 0; i < size; ++i) symbol[i] = merges_.id_of_byte(pretoken[i]);
  for (std::size_t i = 0; i + 1 < size; ++i) candidate[i] = merges_.find_bytes(pretoken[i], pretoken[i + 1]);
  visit(std::span<const std::int32_t>(symbol.data(), size));
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (candidate[i] < candidate[best]) best = i;
    }
    if (candidate[best] == MergeTable::kNone) break;
    symbol[best] = MergeTable::result_of(candidate[best]);
    std::copy(symbol.begin() + best + 2, symbol.begin() + size, symbol.begin() + best + 1);
    std::copy(candidate.begin() + best + 1, candidate.begin() + size - 1, candidate.begin() + best);
    --size;
    if (best > 0) candidate[best - 1] = merges_.find(symbol[best - 1], symbol[best]);
    if (best + 1 < size) candidate[best] = merges_.find(symbol[best], symbol[best + 1]);
    visit(std::span<const std::int32_t>(symbol.data(), size));
  }
  return size;
}

void PretokenEncoder::encode_short(std::string_view pretoken, std::vector<std::int32_t>& ids) const {
  Symbols symbol;
  const std::size_t size = merge_symbols(pretoken, symbol, [](std::span<const std::int32_t>) {});
  ids.insert(ids.end(), symbol.begin(), symbol.begin() + size);
}

std::vector<std::vector<std::int32_t>> PretokenEncoder::merge_steps(std::string_view pretoken) const {
  std::vector<std::vector<std::int32_t>> steps;
  Symbols symbol;
  merge_symbols(pretoken, symbol,
                [&](std::span<const std::int32_t> symbols) { steps.emplace_back(symbols.begin(), symbols.end()); });
  return steps;
}

EncoderPool::Lease EncoderPool::take(const MergeTable& merges, const std::vector<std::uint32_t>& lengths) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {*this, std::make_unique<PretokenEncoder>(merges, lengths)};
  std::unique_ptr<PretokenEncoder> encoder = std::move(idle_.back());
  idle_.pop_back();
  return {*this, std::move(encoder)};
}

EncoderPool::Lease::~Lease() {
  const std::lock_guard lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(encoder_));
}

}  // namespace tapeformer
