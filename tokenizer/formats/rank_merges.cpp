#include "tokenizer/formats/rank_merges.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace tapeformer {
namespace {

using Candidate = MergeTable::Candidate;

// Merges the bytes of a token, the smallest candidate first and the leftmost of equal ones, until two parts are left,
// and returns these; nothing if the merges do not lead so far.
template <class Find>
std::optional<std::pair<std::int32_t, std::int32_t>> last_pair(std::string_view bytes,
                                                               const std::array<std::int32_t, 256>& id_of_byte,
                                                               const Find& find) {
  check(bytes.size() <= kMostTokenBytes, "a token of ", bytes.size(), " bytes is too long: expected at most ",
        kMostTokenBytes);
  std::vector<std::int32_t> parts;
  for (const char c : bytes) parts.push_back(id_of_byte[static_cast<std::uint8_t>(c)]);
  std::vector<Candidate> candidates;  // of each part with the next one
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) candidates.push_back(find(parts[i], parts[i + 1]));
  while (parts.size() > 2) {
    const auto best = std::min_element(candidates.begin(), candidates.end());
    if (*best == MergeTable::kNone) return std::nullopt;
    const std::ptrdiff_t i = best - candidates.begin();
    parts[i] = MergeTable::result_of(*best);
    parts.erase(parts.begin() + i + 1);
    candidates.erase(best);
    if (i > 0) candidates[i - 1] = find(parts[i - 1], parts[i]);
    if (i + 1 < std::ssize(parts)) candidates[i] = find(parts[i], parts[i + 1]);
  }
  return std::pair(parts[0], parts[1]);
}

}  // namespace

RankMerges merges_of_ranks(const Vocabulary& vocabulary) {
  const std::vector<std::string>& tokens = vocabulary.tokens;
  std::vector<std::int32_t> by_length = vocabulary.ordinary_ids();
  const auto id_of_byte = ids_of_bytes(tokens, by_length);
  for (int byte = 0; byte < 256; ++byte) check(id_of_byte[byte] >= 0, "byte ", byte, " has no token");
  // Shorter tokens first, since a token is merged from shorter ones, whatever their ranks.
  std::erase_if(by_length, [&](std::int32_t id) { return tokens[id].size() < 2; });
  std::sort(by_length.begin(), by_length.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(tokens[a].size(), a) < std::pair(tokens[b].size(), b);
  });
  RankMerges found{{}, true};
  PairMap<Candidate> merges;
  const auto find = [&](std::int32_t left, std::int32_t right) {
    const Candidate* candidate = merges.find(pair_key(left, right));
    return candidate ? *candidate : MergeTable::kNone;
  };
  for (const std::int32_t id : by_length) {
    const auto pair = last_pair(tokens[id], id_of_byte, find);
    if (!pair) {
      found.reach_all = false;
      continue;
    }
    merges[pair_key(pair->first, pair->second)] = static_cast<Candidate>(id) << 32 | static_cast<Candidate>(id);
    found.merges.push_back({pair->first, pair->second, id});
  }
  std::sort(found.merges.begin(), found.merges.end(),
            [](const BpeMerge& a, const BpeMerge& b) { return a.result < b.result; });
  return found;
}

std::vector<BpeMerge> effective_merges(const BpeTokenizer& tokenizer) {
  const MergeTable& table = tokenizer.merge_table();
  std::array<std::int32_t, 256> id_of_byte;
  for (int byte = 0; byte < 256; ++byte) id_of_byte[byte] = table.id_of_byte(static_cast<char>(byte));
  const auto find = [&](std::int32_t left, std::int32_t right) { return table.find(left, right); };
  std::vector<BpeMerge> effective;
  for (const BpeMerge& merge : tokenizer.merges()) {
    const auto pair = last_pair(tokenizer.token_bytes(merge.result), id_of_byte, find);
    if (pair && *pair == std::pair(merge.left, merge.right)) effective.push_back(merge);
  }
  return effective;
}

}  // namespace tapeformer
