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

std::vector<std::int32_t> masked_text_row(std::string text, const Tokenizer& tokenizer) {
  const MaskedSymbols symbols = masked_symbols(tokenizer);
  if (tokenizer.kind() != "char") {
    const std::string spaced = " " + std::string(kMaskToken);
    for (std::size_t at = 0; (at = text.find(spaced, at)) != text.npos;) text.erase(at, 1);
  }
  std::vector<std::int32_t> ids = tokenizer.encode(text, true);
  ids.insert(ids.begin(), symbols.classification);
  ids.push_back(symbols.separator);
  return ids;
}

}  // namespace tapeformer
