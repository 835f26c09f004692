// The special tokens of a masked language model (Devlin et al. 2019).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Encodes a text, in which [MASK] is the mask token, as a row of the model: [CLS] text [SEP]. A word's token includes
// the space before it, so the space before [MASK] is removed: it is predicted with the word. For a character tokenizer,
// spaces are tokens of their own and stay.
std::vector<std::int32_t> masked_text_row(std::string text, const Tokenizer& tokenizer);

}  // namespace tapeformer
