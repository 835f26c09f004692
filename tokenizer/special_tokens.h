// Special tokens that the user names, since the vocabulary is learned or its file does not hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Throws UsageError for a name that is empty, not UTF-8, or given twice.
void check_special_tokens(std::span<const std::string> names);

// How many ids without a token a vocabulary may have. Each gets a special token <|unused_ID|>, so that there are no
// gaps.
inline constexpr std::int32_t kMostUnused = 1000;

// The special token that begins a text, or ends one, by the names that it has in published models and here:
// <|endoftext|>, <s> and </s>, <|begin_of_text|> and <|end_of_text|>. Nothing if the tokenizer has none of them.
std::optional<std::int32_t> text_begin_token(const Tokenizer& tokenizer);
std::optional<std::int32_t> text_end_token(const Tokenizer& tokenizer);

// Adds special tokens, each "NAME" or "NAME=ID". Those without an id come after all others, in their order. An empty
// token in the vocabulary is an unused id, which a special token may take. Throws UsageError as check_special_tokens()
// does, and for an id that another token has, or whose distance from the others is too large.
void add_special_tokens(Vocabulary& vocabulary, std::span<const std::string> special_tokens);

}  // namespace tapeformer
