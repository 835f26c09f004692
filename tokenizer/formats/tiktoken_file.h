// tiktoken's files: one line for each ordinary token, with its bytes in base64 and its rank, which is its id. They hold
// neither the special tokens nor the split pattern.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

// Gives the same ids as tiktoken for every text (rank_merges.h). Special tokens are given as in special_tokens.h.
// Throws Error that names the origin and the line, and UsageError for the special tokens.
std::unique_ptr<Tokenizer> read_tiktoken_file(std::string_view text, const std::string& origin, SplitPattern pattern,
                                              std::span<const std::string> special_tokens);

// Throws Error when the file would give other ids.
std::string write_tiktoken_file(const Tokenizer& tokenizer);

}  // namespace tapeformer
