#include "tokenizer/word_tokenizer.h"

#include "core/error.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {

WordTokenizer::WordTokenizer(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {
  unknown_ = special("<unk>");
  check(unknown_.has_value(), "a word tokenizer needs the special token <unk>");
  for (const std::int32_t id : ordinary_ids()) id_of_.emplace(tokens()[id], id);
}

void WordTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  for_each_pretoken(text, SplitPattern::gpt2, [&](std::string_view pretoken) {
    const auto entry = id_of_.find(pretoken);
    ids.push_back(entry == id_of_.end() ? *unknown_ : entry->second);
  });
}

}  // namespace tapeformer
