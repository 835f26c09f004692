// The special tokens of a masked language model (Devlin et al. 2019).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

inline constexpr std::string_view kPadToken = "[PAD]", kClassToken = "[CLS]", kSeparatorToken = "[SEP]",
                                  kMaskToken = "[MASK]";
// The order is that of their ids in a learned tokenizer.
inline constexpr std::array kMaskedTokens{kPadToken, kClassToken, kSeparatorToken, kMaskToken};

struct MaskedSymbols {
  std::int32_t padding = 0;         // fills up short rows
  std::int32_t classification = 0;  // begins a row, for which its vector stands
  std::int32_t separator = 0;       // ends a segment
  std::int32_t mask = 0;            // stands where a token is to be predicted
};

// Throws UsageError that names the tokens that the tokenizer does not have.
MaskedSymbols masked_symbols(const Tokenizer& tokenizer);

}  // namespace tapeformer
