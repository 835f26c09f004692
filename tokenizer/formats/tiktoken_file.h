// tiktoken's files: a line for each ordinary token, its bytes in base64 and its rank, which is its id. They hold
// neither the special tokens nor the pattern by which text is split.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

// Ids as tiktoken's for every text (rank_merges.h). Special tokens as in special_tokens.h. Throws Error, naming the
// origin and the line, and UsageError for the special tokens.
std::unique_ptr<Tokenizer> read_tiktoken_file(std::string_view text, const std::string& origin, SplitPattern pattern,
                                              std::span<const std::string> special_tokens);

// Throws Error where a file of ranks would give other ids.
std::string write_tiktoken_file(const Tokenizer& tokenizer);

}  // namespace tapeformer
