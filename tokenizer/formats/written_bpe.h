// Byte pair encoding as the files of GPT-2 and Hugging Face write it: tokens, and pairs of tokens that merge, in the
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

// Reads "a b"; nothing if it is not two words with one space between them.
std::optional<WrittenPair> read_written_pair(std::string_view text);

// The tokens by id. Throws Error that begins with `where` if the ids are not 0, 1, 2, ….
std::vector<std::string> tokens_by_id(const std::map<std::int32_t, std::string>& tokens, const std::string& where);
// Reads {"token": id, …}. Throws Error that begins with `where` for a value that is not an id, or is the id of two
// tokens.
std::map<std::int32_t, std::string> read_vocab(const nlohmann::json& vocab, const std::string& where);

// Makes the tokenizer of a file: its special tokens stand for their text, the others for the bytes that their
// characters mean. Throws Error: it begins with `where_tokens` for a token that is not written in byte-level
// characters, and with where_merge(i) if merge i is given twice, or has a part or a result that is not an ordinary
// token.
std::unique_ptr<BpeTokenizer> bpe_of_written(const Vocabulary& written, const std::vector<WrittenPair>& merges,
                                             const std::string& where_tokens,
                                             const std::function<std::string(std::size_t)>& where_merge,
                                             SplitPattern pattern, bool whole_pretokens = false, bool composes = false);

// Tokens as files write them, by id.
std::vector<std::string> written_tokens(const BpeTokenizer& tokenizer);

}  // namespace tapeformer
