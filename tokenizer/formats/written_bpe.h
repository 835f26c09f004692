// Byte pair encoding as GPT-2's files and Hugging Face's write it: tokens, and pairs of tokens that merge, by the
// characters of byte_level.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

struct WrittenPair {
  std::string left, right;
};

// "a b": nothing where it is not two words apart by one space.
std::optional<WrittenPair> read_written_pair(std::string_view text);

// The tokens by id, and the ids 0, 1, 2, …: throws Error, beginning with `where`, where one is missing.
std::vector<std::string> tokens_by_id(const std::map<std::int32_t, std::string>& tokens, const std::string& where);
// {"token": id, …}. Throws Error, beginning with `where`, for what is no id or is the id of two.
std::map<std::int32_t, std::string> read_vocab(const nlohmann::json& vocab, const std::string& where);

// Special tokens stand for their text, the others for bytes. Throws Error: beginning with `where_tokens` for a token
// that is not written so, with where_merge(i) for a merge of or to something that is no ordinary token, or one that is
// there twice.
std::unique_ptr<BpeTokenizer> bpe_of_written(const Vocabulary& written, const std::vector<WrittenPair>& merges,
                                             const std::string& where_tokens,
                                             const std::function<std::string(std::size_t)>& where_merge,
                                             SplitPattern pattern, bool whole_pretokens = false);

// Tokens as files write them, by id.
std::vector<std::string> written_tokens(const BpeTokenizer& tokenizer);

}  // namespace tapeformer
