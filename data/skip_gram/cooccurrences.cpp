#include "data/skip_gram/cooccurrences.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/error.h"
#include "core/pair_key.h"

namespace tapeformer {

std::vector<Cooccurrence> count_cooccurrences(TokenView tokens, std::int64_t vocab, std::int64_t window) {
  constexpr std::int64_t kPiece = 1 << 16;  // tokens that are read at a time
  std::unordered_map<std::uint64_t, double> counts;
  std::vector<std::int32_t> ids;  // up to `window` tokens before the piece, and the piece
  for (std::int64_t begin = 0; begin < tokens.size(); begin += kPiece) {
    const std::int64_t first = std::max<std::int64_t>(0, begin - window), end = std::min(tokens.size(), begin + kPiece);
    ids.resize(end - first);
    tokens.copy(first, ids);
    for (std::int64_t at = begin - first; at < std::ssize(ids); ++at) {
      check(ids[at] >= 0 && ids[at] < vocab, "co-occurrences: id ", ids[at], " is outside of the vocabulary of ",
            vocab);
      for (std::int64_t distance = 1; distance <= std::min(window, at); ++distance) {
        const auto [i, j] = std::minmax(ids[at], ids[at - distance]);
        // A token near itself counts once for each of its two places.
        counts[pair_key(i, j)] += (i == j ? 2.0 : 1.0) / static_cast<double>(distance);
      }
    }
  }
  std::vector<Cooccurrence> pairs;
  pairs.reserve(2 * counts.size());
  for (const auto& [key, count] : counts) {
    const auto i = static_cast<std::int32_t>(key >> 32), j = static_cast<std::int32_t>(key);
    pairs.push_back({i, j, count});
    if (i != j) pairs.push_back({j, i, count});
  }
  std::ranges::sort(
      pairs, [](const Cooccurrence& a, const Cooccurrence& b) { return std::tie(a.i, a.j) < std::tie(b.i, b.j); });
  return pairs;
}

}  // namespace tapeformer
