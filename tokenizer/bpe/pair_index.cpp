#include "tokenizer/bpe/pair_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <map>

#include "core/error.h"
#include "tokenizer/bpe/byte_level.h"

namespace tapeformer {
namespace {

// The factor by which the threshold falls. A smaller one needs more passes over the words, a larger one indexes more
// pairs that are never merged.
constexpr std::int64_t kThresholdStep = 32;

}  // namespace

PairIndex::PairIndex(const PretokenCounts& pretokens) : lengths_(256, 1), words_(lengths_) {
  lay_out(pretokens);
  left_tally_.resize(256);
  right_tally_.resize(256);
  // The first merge builds the first index with this threshold: a pair of the most frequent word occurs as often.
  if (!groups_.empty()) threshold_ = groups_.front().weight * kThresholdStep;
}

// Visits the words twice: first it counts the cells for each weight, then it fills them. Words of one byte have no
// pair.
void PairIndex::lay_out(const PretokenCounts& pretokens) {
  std::map<std::int64_t, std::uint64_t, std::greater<>> cells_of_weight;
  std::uint64_t total = 1;
  pretokens.for_each([&](std::string_view pretoken, std::int64_t count) {
    if (pretoken.size() < 2) return;
    cells_of_weight[count] += pretoken.size() + 1;
    total += pretoken.size() + 1;
  });
  check(total < SymbolCells::kMostCells, "bpe tokenizer: the distinct words to train on hold ", total,
        " bytes; at most ", SymbolCells::kMostCells, " can be indexed");
  std::uint64_t begin = 1;
  for (auto& [weight, cells] : cells_of_weight) {
    const std::uint64_t end = begin + cells;
    groups_.push_back({static_cast<std::uint32_t>(end), weight});
    cells = begin;  // from here on: the place of the next word of this weight
    begin = end;
  }
  std::array<std::int32_t, 256> id_of_byte;
  for (int id = 0; id < 256; ++id) id_of_byte[byte_order()[id]] = id;
  std::vector<std::int32_t>& cells = words_.cells();
  cells.resize(total);
  cells[0] = SymbolCells::kEnd;
  pretokens.for_each([&](std::string_view pretoken, std::int64_t count) {
    if (pretoken.size() < 2) return;
    std::uint64_t& at = cells_of_weight[count];
    for (const char c : pretoken) cells[at++] = id_of_byte[static_cast<std::uint8_t>(c)];
    cells[at++] = SymbolCells::kEnd;
  });
}

template <class F>
void PairIndex::for_each_pair(const F& f) const {
  std::uint32_t at = 1;
  for (const WordGroup& group : groups_) {
    while (at < group.end) {  // a word
      std::uint32_t right = words_.next(at);
      for (; words_.symbol(right) != SymbolCells::kEnd; at = right, right = words_.next(at)) {
        f(at, pair_key(words_.symbol(at), words_.symbol(right)), group.weight);
      }
      at = right + 1;
    }
  }
}

void PairIndex::index_pairs() {
  pairs_ = {};
  // Counts by a hash of the pair (limited to 32 bits) are never too low, and few of them are too high. So few pairs
  // below the threshold are counted exactly.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const int bits = std::clamp(static_cast<int>(std::bit_width(words_.size())), 8, 20);
  std::vector<std::uint32_t> at_most(std::size_t{1} << bits);
  const auto bound = [&](std::uint64_t key) -> std::uint32_t& { return at_most[pair_hash(key) >> (64 - bits)]; };
  for_each_pair([&](std::uint32_t, std::uint64_t key, std::int64_t weight) {
    std::uint32_t& count = bound(key);
    count = static_cast<std::uint32_t>(std::min(kMost, count + std::min(kMost, weight)));
  });
  for_each_pair([&](std::uint32_t at, std::uint64_t key, std::int64_t weight) {
    if (bound(key) < std::min(kMost, threshold_)) return;
    Pair& pair = pairs_[key];
    pair.count += weight;
    pair.places.push_back(at);
  });
  std::vector<std::uint64_t> rare;
  std::vector<Candidate> candidates;
  pairs_.for_each([&](std::uint64_t key, Pair& pair) {
    if (pair.count < threshold_) {
      rare.push_back(key);
    } else {
      pair.places.shrink_to_fit();
      candidates.push_back({pair.count, key});
    }
  });
  for (const std::uint64_t key : rare) pairs_.erase(key);
  queue_ = std::priority_queue<Candidate>({}, std::move(candidates));
}

bool PairIndex::merge_best(std::int32_t result, BpeMerge& merge) {
  while (true) {
    if (queue_.empty()) {
      if (threshold_ == 1) return false;
      threshold_ = std::max<std::int64_t>(1, threshold_ / kThresholdStep);
      index_pairs();
      continue;
    }
    Candidate best = queue_.top();
    queue_.pop();
    Pair& pair = *pairs_.find(best.key);
    if (pair.count == best.count) {
      merge = {static_cast<std::int32_t>(best.key >> 32), static_cast<std::int32_t>(best.key & 0xFFFFFFFF), result};
      const std::vector<std::uint32_t> places = std::move(pair.places);
      pairs_.erase(best.key);
      replace(merge, places);
      return true;
    }
    // The pair has become rarer since it was queued.
    best.count = pair.count;
    if (best.count >= threshold_) {
      queue_.push(best);
    } else {
      pairs_.erase(best.key);
    }
  }
}

void PairIndex::remove(std::int32_t left, std::int32_t right, std::int64_t weight) {
  if (Pair* pair = pairs_.find(pair_key(left, right))) pair->count -= weight;
}

void PairIndex::add_new(std::uint32_t at, std::int32_t other, bool other_is_left, std::int64_t weight) {
  Tally& tally = (other_is_left ? left_tally_ : right_tally_)[other];
  tally.count += weight;
  ++tally.places;
  new_places_.push_back({at, other, other_is_left});
}

// The places are sorted, so of two pairs that overlap the left one is merged.
void PairIndex::replace(const BpeMerge& merge, const std::vector<std::uint32_t>& places) {
  lengths_.push_back(lengths_[merge.left] + lengths_[merge.right]);
  left_tally_.emplace_back();
  right_tally_.emplace_back();
  auto group = groups_.begin();
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) words_.prefetch(places[i + kAhead]);
    const std::uint32_t at = places[i];
    if (!words_.is_pair(at, merge.left, merge.right)) continue;
    if (at >= group->end) {
      group = std::upper_bound(group, groups_.end(), at,
                               [](std::uint32_t place, const WordGroup& other) { return place < other.end; });
    }
    const std::int64_t weight = group->weight;
    words_.merge(at, merge.result);
    const std::uint32_t before = words_.previous(at);
    const std::int32_t left = words_.symbol(before), right = words_.symbol(words_.next(at));
    if (left == merge.result) {  // just made here, and counted with merge.left to its right
      right_tally_[merge.left].count -= weight;
      add_new(before, left, false, weight);
    } else if (left != SymbolCells::kEnd) {
      remove(left, merge.left, weight);
      add_new(before, left, true, weight);
    }
    if (right != SymbolCells::kEnd) {
      remove(merge.right, right, weight);
      add_new(at, right, false, weight);
    }
  }
  index_new_pairs(merge.result);
}

void PairIndex::index_new_pairs(std::int32_t result) {
  for (const NewPlace& place : new_places_) {
    const Tally& tally = (place.other_is_left ? left_tally_ : right_tally_)[place.other];
    if (tally.count < threshold_) continue;
    const std::uint64_t key = place.other_is_left ? pair_key(place.other, result) : pair_key(result, place.other);
    Pair& pair = pairs_[key];
    if (pair.places.empty()) {
      pair.count = tally.count;
      pair.places.reserve(tally.places);
      queue_.push({pair.count, key});
    }
    pair.places.push_back(place.at);
  }
  for (const NewPlace& place : new_places_) {
    (place.other_is_left ? left_tally_ : right_tally_)[place.other] = {};
  }
  new_places_.clear();
}

}  // namespace tapeformer
