// The tokens that frame sentences.
#pragma once

#include "tokenizer/tokenizer.h"

namespace tapeformer {

inline constexpr const char *kBeginToken = "<s>", *kEndToken = "</s>", *kPaddingToken = "<pad>";

struct SentenceSymbols {
  std::int32_t begin = 0, end = 0, padding = 0;
};

// Of sentences and of their translations.
struct PairSymbols {
  SentenceSymbols source, target;
};

// Throws Error, calling the tokenizer `origin`, when one of the symbols is none of its special tokens.
SentenceSymbols sentence_symbols(const Tokenizer& tokenizer, const std::string& origin);

}  // namespace tapeformer
