// Special tokens that are named beside a vocabulary: when one is learned, and for files that do not hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Throws UsageError for names that are empty, not UTF-8 or there twice.
void check_special_tokens(std::span<const std::string> names);

// Ids without a token that a vocabulary may have; each gets a special token <|unused_ID|>, so that the ids have no
// gaps.
inline constexpr std::int32_t kMostUnused = 1000;

// Adds special tokens, each "NAME" or "NAME=ID": those without an id come behind all others, in their order. Where the
// vocabulary's tokens are empty, they are unused ids, to be taken or filled. Throws UsageError as above, and for ids
// that are another token's, or too far behind the others.
void add_special_tokens(Vocabulary& vocabulary, std::span<const std::string> special_tokens);

}  // namespace tapeformer
