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

std::vector<std::string> WordTokenizer::learn(std::span<const std::string_view> texts, std::int64_t limit) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t invalid = find_invalid_utf8(texts[i]);
    check(invalid == std::string_view::npos, "word tokenizer: invalid UTF-8 at byte ", invalid,
          texts.size() > 1 ? concat(" of text ", i + 1) : "", "; a bpe tokenizer takes any bytes");
  }
  std::vector<PieceCount> pieces = count_pieces(texts);
  std::sort(pieces.begin(), pieces.end(), [](const PieceCount& a, const PieceCount& b) {
    return a.count != b.count ? a.count > b.count : a.piece < b.piece;
  });
  if (static_cast<std::int64_t>(pieces.size()) > limit) pieces.resize(limit);
  std::vector<std::string> tokens;
  for (const PieceCount& entry : pieces) tokens.emplace_back(entry.piece);
  return tokens;
}

void WordTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  for_each_piece(text, [&](std::string_view piece) {
    const auto entry = id_of_.find(piece);
    ids.push_back(entry == id_of_.end() ? unknown_ : entry->second);
  });
}

}  // namespace tapeformer
