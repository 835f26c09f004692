#include "tokenizer/word_tokenizer.h"

#include <algorithm>

#include "autograd/core/error.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/utf8.h"

namespace tapeformer {

WordTokenizer::WordTokenizer(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {
  check(special("<unk>").has_value(), "a word tokenizer needs the special token <unk>");
  unknown_ = *special("<unk>");
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    if (!is_special(id)) id_of_.emplace(tokens()[id], id);
  }
}

std::vector<std::string> WordTokenizer::learn(std::span<const std::string_view> texts, std::int64_t limit,
                                              std::size_t max_memory, const CountProgress& progress) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t invalid = find_invalid_utf8(texts[i]);
    check(invalid == std::string_view::npos, "word tokenizer: invalid UTF-8 at byte ", invalid,
          texts.size() > 1 ? concat(" of text ", i + 1) : "", "; a bpe tokenizer takes any bytes");
  }
  struct Word {
    std::string text;
    std::int64_t count;
  };
  std::vector<Word> words;
  count_pieces(texts, {.pattern = SplitPattern::gpt2, .max_memory = max_memory}, progress)
      ->for_each([&](std::string_view piece, std::int64_t count) {
        words.push_back({std::string(piece), count});
      });
  std::sort(words.begin(), words.end(),
            [](const Word& a, const Word& b) { return a.count != b.count ? a.count > b.count : a.text < b.text; });
  std::vector<std::string> tokens;
  for (Word& word : std::span(words).first(std::min<std::size_t>(words.size(), limit))) {
    tokens.push_back(std::move(word.text));
  }
  return tokens;
}

void WordTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  for_each_piece(text, SplitPattern::gpt2, [&](std::string_view piece) {
    const auto entry = id_of_.find(piece);
    ids.push_back(entry == id_of_.end() ? unknown_ : entry->second);
  });
}

}  // namespace tapeformer
