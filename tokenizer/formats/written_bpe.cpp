#include "tokenizer/formats/written_bpe.h"

#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/formats/json_text.h"

namespace tapeformer {

using nlohmann::json;

std::optional<WrittenPair> read_written_pair(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == text.npos || space == 0 || space + 1 == text.size()) return std::nullopt;
  if (text.find(' ', space + 1) != text.npos) return std::nullopt;
  return WrittenPair{std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

std::map<std::int32_t, std::string> read_vocab(const json& vocab, const std::string& where) {
  check(vocab.is_object(), where, ": expected an object, got ", show(vocab));
  std::map<std::int32_t, std::string> by_id;
  for (const auto& [token, value] : vocab.items()) {
    const std::int32_t id = id_of(value, str_cat(where, ": token ", show(token)));
    const auto [entry, is_new] = by_id.try_emplace(id, token);
    check(is_new, where, ": the tokens ", show(entry->second), " and ", show(token), " have the same id ", id);
  }
  return by_id;
}

std::vector<std::string> tokens_by_id(const std::map<std::int32_t, std::string>& by_id, const std::string& where) {
  std::vector<std::string> tokens;
  for (const auto& [id, token] : by_id) {
    const auto expected = static_cast<std::int32_t>(tokens.size());
    check(id == expected, where, ": no token has the id ", expected, ", but ", show(token), " has ", id);
    tokens.push_back(token);
  }
  return tokens;
}

std::unique_ptr<BpeTokenizer> bpe_of_written(const Vocabulary& written, const std::vector<WrittenPair>& pairs,
                                             const std::string& where_tokens,
                                             const std::function<std::string(std::size_t)>& where_merge,
                                             SplitPattern pattern, bool whole_pretokens, bool composes) {
  Vocabulary vocabulary = written;
  for (AddedToken& token : vocabulary.added) {
    token.ordinary = token.ordinary && read_bytes(token.text).has_value();
  }
  std::unordered_map<std::string_view, std::int32_t> ordinary;
  for (const std::int32_t id : vocabulary.ordinary_ids()) {
    const auto bytes = read_bytes(written.tokens[id]);
    check(bytes && !bytes->empty(), where_tokens, ": token ", id, " is not made of GPT-2's byte-level characters");
    vocabulary.tokens[id] = *bytes;
    ordinary.emplace(written.tokens[id], id);
  }
  check(!ordinary.empty(), where_tokens, ": no ordinary tokens in it");
  std::vector<BpeMerge> merges;
  std::unordered_set<std::uint64_t> seen;
  for (const WrittenPair& pair : pairs) {
    const auto where = [&] {
      return str_cat(where_merge(merges.size()), " (", show(pair.left), " + ", show(pair.right), ")");
    };
    const auto find = [&](const std::string& token) {
      const auto found = ordinary.find(token);
      if (found != ordinary.end()) return found->second;
      fail(where(), ": ", show(token), " is not an ordinary token of the vocabulary");
    };
    const BpeMerge merge{find(pair.left), find(pair.right), find(pair.left + pair.right)};
    if (!seen.insert(pair_key(merge.left, merge.right)).second) fail(where(), " is there twice");
    merges.push_back(merge);
  }
  return std::make_unique<BpeTokenizer>(std::move(vocabulary), std::move(merges), pattern, whole_pretokens, composes);
}

std::vector<std::string> written_tokens(const BpeTokenizer& tokenizer) {
  std::vector<std::string> written;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view token = tokenizer.token_bytes(id);
    written.push_back(tokenizer.is_ordinary(id) ? write_bytes(token) : std::string(token));
  }
  return written;
}

}  // namespace tapeformer
