#include "tokenizer/bpe/bpe_tokenizer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode/normalization.h"

namespace tapeformer {

BpeTokenizer::BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges, SplitPattern pattern,
                           bool whole_pretokens, bool composes)
    : Tokenizer(std::move(vocabulary)),
      pattern_(pattern),
      composes_(composes),
      table_(std::move(merges), ids_of_bytes(tokens(), ordinary_ids())) {
  for (const std::string& token : tokens()) lengths_.push_back(static_cast<std::uint32_t>(token.size()));
  for (const BpeMerge& merge : table_.merges()) {
    check(lengths_[merge.result] == lengths_[merge.left] + lengths_[merge.right], "the merge of the tokens ",
          merge.left, " and ", merge.right, " is not token ", merge.result);
  }
  if (!whole_pretokens) return;
  std::unordered_set<std::int32_t> added;  // these are found before the text is split
  for (const AddedToken& token : added_tokens()) added.insert(token.id);
  const EncoderPool::Lease encoder = encoders_.take(table_, lengths_);
  std::vector<std::int32_t> ids;
  for (const std::int32_t id : ordinary_ids()) {
    if (added.contains(id)) continue;
    ids.clear();
    if (find_unknown_byte(tokens()[id]) == std::string_view::npos) encoder->encode(tokens()[id], ids);
    if (ids.size() != 1) unmerged_.emplace(tokens()[id], id);
  }
}

std::size_t BpeTokenizer::find_unknown_byte(std::string_view text) const {
  if (table_.has_all_bytes()) return text.npos;
  const auto at = std::find_if(text.begin(), text.end(), [&](char c) { return table_.id_of_byte(c) < 0; });
  return at == text.end() ? text.npos : static_cast<std::size_t>(at - text.begin());
}

std::vector<std::vector<std::int32_t>> BpeTokenizer::merge_steps(std::string_view text) const {
  check(!text.empty(), "bpe tokenizer: expected a word, got none");
  const std::string_view pretoken = text.substr(0, pretoken_end(text, 0, pattern_));
  if (const auto token = unmerged_.find(pretoken); token != unmerged_.end()) {
    return {std::vector<std::int32_t>{token->second}};
  }
  check(pretoken.size() <= PretokenEncoder::kShort, "bpe tokenizer: the word has ", pretoken.size(),
        " bytes, expected at most ", PretokenEncoder::kShort);
  check(find_unknown_byte(pretoken) == pretoken.npos, "bpe tokenizer: a byte of the word has no token");
  const EncoderPool::Lease encoder = encoders_.take(table_, lengths_);
  return encoder->merge_steps(pretoken);
}

std::optional<std::string> BpeTokenizer::normalized(std::string_view text, bool) const {
  return composes_ ? std::optional(nfc(text)) : std::nullopt;
}

void BpeTokenizer::encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const {
  const EncoderPool::Lease encoder = encoders_.take(table_, lengths_);
  if (unmerged_.empty() && table_.has_all_bytes()) {
    for_each_pretoken(text, pattern_, [&](std::string_view pretoken) { encoder->encode(pretoken, ids); });
    return;
  }
  for_each_pretoken(text, pattern_, [&](std::string_view pretoken) {
    if (const auto token = unmerged_.find(pretoken); token != unmerged_.end()) {
      ids.push_back(token->second);
      return;
    }
    if (const std::size_t unknown = find_unknown_byte(pretoken); unknown != pretoken.npos) {
      fail("bpe tokenizer: byte ", offset + static_cast<std::size_t>(pretoken.data() - text.data()) + unknown, " is ",
           static_cast<int>(static_cast<std::uint8_t>(pretoken[unknown])), ", which has no token in this vocabulary");
    }
    encoder->encode(pretoken, ids);
  });
}

}  // namespace tapeformer
