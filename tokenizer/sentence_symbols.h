// The special tokens that mark the beginning, the end and the padding of sentences.
#pragma once

#include "tokenizer/tokenizer.h"

namespace tapeformer {

inline constexpr const char *kBeginToken = "<s>", *kEndToken = "</s>", *kPaddingToken = "<pad>";

struct SentenceSymbols {
  std::int32_t begin = 0, end = 0, padding = 0;
};

// The symbols of the source sentences and of their translations.
struct PairSymbols {
  SentenceSymbols source, target;
};

// Throws Error, in which the tokenizer is called `origin`, when a symbol is not among its special tokens.
SentenceSymbols sentence_symbols(const Tokenizer& tokenizer, const std::string& origin);

}  // namespace tapeformer
