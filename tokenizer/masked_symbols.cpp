#include "tokenizer/masked_symbols.h"

#include "core/error.h"

namespace tapeformer {

MaskedSymbols masked_symbols(const Tokenizer& tokenizer) {
  std::string missing;
  for (const std::string_view name : kMaskedTokens) {
    if (!tokenizer.special(name)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  if (!missing.empty()) {
    fail_usage("tokenizer: a masked language model needs the special tokens [PAD], [CLS], [SEP] and [MASK], got one ",
               "without ", missing, ": `tokenizer train` adds those that --special names");
  }
  return {*tokenizer.special(kPadToken), *tokenizer.special(kClassToken), *tokenizer.special(kSeparatorToken),
          *tokenizer.special(kMaskToken)};
}

}  // namespace tapeformer
