// One token per frequent pretoken of GPT-2's pattern; <unk> for all others.
#pragma once

#include <unordered_map>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

class WordTokenizer : public Tokenizer {
 public:
  // Throws Error when <unk> is not among the special tokens.
  explicit WordTokenizer(Vocabulary vocabulary);
  std::string kind() const override { return "word"; }

 private:
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  std::unordered_map<std::string_view, std::int32_t> id_of_;
};

}  // namespace tapeformer
