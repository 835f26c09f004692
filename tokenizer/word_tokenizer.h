// One token per frequent piece of GPT-2's pre-tokenisation; <unk> for all others.
#pragma once

#include <unordered_map>

#include "tokenizer/piece_counter.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

class WordTokenizer : public Tokenizer {
 public:
  // <unk> must be among the special tokens: throws Error.
  explicit WordTokenizer(Vocabulary vocabulary);
  std::string kind() const override { return "word"; }

  // The `limit` most frequent pieces, most frequent first; equally frequent ones in the order of their bytes. Throws
  // Error at invalid UTF-8, which tokenizer.json could not hold.
  static std::vector<std::string> learn(std::span<const std::string_view> texts, std::int64_t limit,
                                        std::size_t max_memory, const CountProgress& progress);

 private:
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  std::unordered_map<std::string_view, std::int32_t> id_of_;
  std::int32_t unknown_;
};

}  // namespace tapeformer
