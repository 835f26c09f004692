#include "tokenizer/bpe_trainer.h"

#include <limits>
#include <queue>

#include "autograd/core/error.h"
#include "tokenizer/byte_level.h"

namespace tapeformer {
namespace {

constexpr std::int32_t kNone = -1;

// All pieces as one sequence of symbols, linked within each piece, with an index of where each pair stands. A merge
// costs as much as the pair has occurrences, however long the pieces are.
class PairIndex {
 public:
  explicit PairIndex(std::span<const PieceCount> pieces) {
    std::array<std::int32_t, 256> id_of_byte;
    for (int id = 0; id < 256; ++id) id_of_byte[byte_order()[id]] = id;
    std::int64_t total = 0;
    for (const PieceCount& piece : pieces) total += static_cast<std::int64_t>(piece.piece.size());
    check(total < std::numeric_limits<std::int32_t>::max(), "bpe tokenizer: the distinct words to train on hold ",
          total, " bytes; at most ", std::numeric_limits<std::int32_t>::max(), " can be indexed");
    symbols_.reserve(total);
    for (const PieceCount& piece : pieces) {
      const auto begin = static_cast<std::int32_t>(symbols_.size());
      const auto end = begin + static_cast<std::int32_t>(piece.piece.size());
      for (std::int32_t at = begin; at < end; ++at) {
        symbols_.push_back({id_of_byte[static_cast<std::uint8_t>(piece.piece[at - begin])], at > begin ? at - 1 : kNone,
                            at + 1 < end ? at + 1 : kNone, piece.count});
        if (at > begin) add(at - 1);
      }
    }
    queue_new_pairs();
  }

  // Takes the next pair to merge, turns it into `result` everywhere, and says whether there was one.
  bool merge_best(std::int32_t result, BpeMerge& merge) {
    while (!queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      const auto entry = pairs_.find(best.key);
      const std::int64_t count = entry->second.count;
      if (count == best.count && count > 0) {
        merge = {static_cast<std::int32_t>(best.key >> 32), static_cast<std::int32_t>(best.key & 0xFFFFFFFF), result};
        const std::vector<std::int32_t> places = std::move(entry->second.places);
        replace(merge, places);
        pairs_.erase(best.key);
        queue_new_pairs();
        return true;
      }
      // A pair that is there already only becomes rarer, so a count that is out of date is too high, never too low.
      best.count = count;
      if (count > 0) {
        queue_.push(best);
      } else {
        pairs_.erase(entry);
      }
    }
    return false;
  }

 private:
  struct Symbol {
    std::int32_t id, previous, next;  // places in symbols_; kNone at the ends of a piece; id kNone once merged
    std::int64_t weight;              // how often the piece occurs
  };
  struct Pair {
    std::int64_t count = 0;
    std::vector<std::int32_t> places;  // of left symbols, ascending; some may be out of date
  };
  struct Candidate {
    std::int64_t count;
    std::uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  std::uint64_t key_at(std::int32_t left) const {
    return pair_key(symbols_[left].id, symbols_[symbols_[left].next].id);
  }

  void add(std::int32_t left) {
    const auto [entry, is_new] = pairs_.try_emplace(key_at(left));
    if (is_new) new_keys_.push_back(entry->first);
    entry->second.count += symbols_[left].weight;
    entry->second.places.push_back(left);
  }

  void remove(std::int32_t left) { pairs_[key_at(left)].count -= symbols_[left].weight; }

  // Places ascend, so of pairs that overlap the left one is taken.
  void replace(const BpeMerge& merge, std::span<const std::int32_t> places) {
    for (const std::int32_t left : places) {
      Symbol& symbol = symbols_[left];
      if (symbol.id != merge.left || symbol.next == kNone || symbols_[symbol.next].id != merge.right) continue;
      Symbol& right = symbols_[symbol.next];
      if (symbol.previous != kNone) remove(symbol.previous);
      if (right.next != kNone) remove(symbol.next);
      symbol.id = merge.result;
      symbol.next = right.next;
      right.id = kNone;
      if (symbol.next != kNone) symbols_[symbol.next].previous = left;
      if (symbol.previous != kNone) add(symbol.previous);
      if (symbol.next != kNone) add(left);
    }
  }

  void queue_new_pairs() {
    for (const std::uint64_t key : new_keys_) queue_.push({pairs_[key].count, key});
    new_keys_.clear();
  }

  std::vector<Symbol> symbols_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint64_t> new_keys_;
};

}  // namespace

std::vector<BpeMerge> learn_merges(std::span<const PieceCount> pieces, std::int64_t wanted,
                                   const TrainProgress& progress) {
  PairIndex index(pieces);
  std::vector<BpeMerge> merges;
  BpeMerge merge{};
  while (static_cast<std::int64_t>(merges.size()) < wanted &&
         index.merge_best(256 + static_cast<std::int32_t>(merges.size()), merge)) {
    merges.push_back(merge);
    if (progress && merges.size() % 100 == 0) progress(static_cast<std::int64_t>(merges.size()), wanted);
  }
  if (progress) progress(static_cast<std::int64_t>(merges.size()), wanted);
  return merges;
}

}  // namespace tapeformer
