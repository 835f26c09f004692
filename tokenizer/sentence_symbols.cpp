#include "tokenizer/sentence_symbols.h"

#include "core/error.h"

namespace tapeformer {

SentenceSymbols sentence_symbols(const Tokenizer& tokenizer, const std::string& origin) {
  const auto find = [&](const char* name, const char* what) {
    const auto id = tokenizer.special(name);
    check(id.has_value(), origin, ": the vocabulary has no special token ", name, ", ", what);
    return *id;
  };
  return {find(kBeginToken, "which begins a sentence"), find(kEndToken, "which ends a sentence"),
          find(kPaddingToken, "which fills up short sentences")};
}

}  // namespace tapeformer
