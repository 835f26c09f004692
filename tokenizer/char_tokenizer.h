// One token per Unicode character.
#pragma once

#include "tokenizer/tokenizer.h"

namespace tapeformer {

class CharTokenizer : public Tokenizer {
 public:
  // Throws Error, naming the token, when an ordinary token is not one character in UTF-8.
  explicit CharTokenizer(Vocabulary vocabulary);
  std::string kind() const override { return "char"; }

 private:
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  std::vector<std::int32_t> id_of_;  // by code point; -1 for a character without a token
};

}  // namespace tapeformer
