// One token per Unicode character.
#pragma once

#include "tokenizer/tokenizer.h"

namespace tapeformer {

class CharTokenizer : public Tokenizer {
 public:
  // Every token that is not special is one character in UTF-8; throws Error naming one that is not.
  explicit CharTokenizer(Vocabulary vocabulary);
  std::string kind() const override { return "char"; }

 private:
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  std::vector<std::int32_t> id_of_;  // by code point; -1 for none
  std::optional<std::int32_t> unknown_;
};

}  // namespace tapeformer
