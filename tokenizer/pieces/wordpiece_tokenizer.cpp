#include "tokenizer/pieces/wordpiece_tokenizer.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text/utf8.h"
#include "tokenizer/unicode/normalization.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {
namespace {

// The ranges that BERT puts spaces around, as Hugging Face's tokenizers have them.
bool is_ideograph(std::int32_t c) {
  return (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

constexpr std::int32_t kReplacement = 0xFFFD;

bool is_removed(std::int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c < 0 || c == kReplacement || category(c) == Category::control;
}

bool is_punctuation(std::int32_t c) { return category(c) == Category::punctuation; }

std::string normalize_ascii(std::string_view text, const BertRules& rules) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (rules.clean_text) {
      if (is_removed(c)) continue;
      if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    }
    out += rules.lowercase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
  }
  return out;
}

// What a token stands for in a decoded text.
std::string decoded(const std::string& written, const WordPieceRules& rules) {
  if (written.starts_with(rules.prefix)) return written.substr(rules.prefix.size());
  constexpr std::array<std::string_view, 8> kNoSpace{".", "?", "!", ",", "n't", "'m", "'s", "'ve"};
  const auto begins = [&](std::string_view sign) { return written.starts_with(sign); };
  if (rules.cleanup && (std::ranges::any_of(kNoSpace, begins) || begins("'re"))) return written;
  return " " + written;
}

Vocabulary to_decoded(Vocabulary vocabulary, const WordPieceRules& rules) {
  for (const std::int32_t id : vocabulary.ordinary_ids()) {
    vocabulary.tokens[id] = decoded(vocabulary.tokens[id], rules);
  }
  return vocabulary;
}

}  // namespace

std::string normalize_for_bert(std::string_view text, const BertRules& rules) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    return normalize_ascii(text, rules);
  }
  CodePoints characters;
  for (std::int32_t c : code_points(text)) {
    if (rules.clean_text && is_removed(c)) continue;
    if (c < 0) c = kReplacement;
    if (rules.clean_text && char_class(c) == CharClass::space) c = ' ';
    const bool spaced = rules.handle_chinese_chars && is_ideograph(c);
    if (spaced) characters.push_back(' ');
    characters.push_back(c);
    if (spaced) characters.push_back(' ');
  }
  if (rules.strip_accents.value_or(rules.lowercase)) {
    characters = nfd(characters);
    std::erase_if(characters, [](std::int32_t c) { return category(c) == Category::mark; });
  }
  if (rules.lowercase) {
    CodePoints lower;
    for (const std::int32_t c : characters) append_lower(lower, c);
    characters = std::move(lower);
  }
  return to_utf8(characters);
}

WordPieceTokenizer::WordPieceTokenizer(const Vocabulary& written, WordPieceRules rules)
    : Tokenizer(to_decoded(written, rules)), written_(written.tokens), rules_(std::move(rules)) {
  for (const std::int32_t id : ordinary_ids()) {
    const std::string_view token = written_[id];
    beginnings_.emplace(token, id);
    if (token.starts_with(rules_.prefix)) insides_.emplace(token.substr(rules_.prefix.size()), id);
    longest_ = std::max(longest_, token.size());
  }
  const auto unknown = std::ranges::find(written_, rules_.unknown);
  check(unknown != written_.end(), "model.unk_token: the token \"", rules_.unknown, "\" is not in the vocabulary");
  unknown_ = static_cast<std::int32_t>(unknown - written_.begin());
}

std::optional<std::string> WordPieceTokenizer::normalized(std::string_view text, bool) const {
  return normalize_for_bert(text, rules_.normalizer);
}

void WordPieceTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  std::size_t word = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > word) encode_word(text.substr(word, end - word), ids);
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text, at);
    const std::size_t behind = at + c.length;
    if (char_class(c.code_point) == CharClass::space) {
      end_word(at);
      word = behind;
    } else if (is_punctuation(c.code_point)) {
      end_word(at);
      encode_word(text.substr(at, c.length), ids);
      word = behind;
    }
    at = behind;
  }
  end_word(text.size());
}

void WordPieceTokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  const auto begins_character = [](char c) { return !is_continuation_byte(c); };
  if (std::ranges::count_if(word, begins_character) > rules_.most_characters) return ids.push_back(*unknown_);
  const std::size_t first = ids.size();
  for (std::size_t begin = 0; begin < word.size();) {
    const auto& tokens = begin == 0 ? beginnings_ : insides_;
    std::size_t end = std::min(word.size(), begin + longest_);
    auto found = tokens.end();
    for (; end > begin; --end) {
      if (end < word.size() && !begins_character(word[end])) continue;
      found = tokens.find(word.substr(begin, end - begin));
      if (found != tokens.end()) break;
    }
    if (found == tokens.end()) {
      ids.resize(first);
      return ids.push_back(*unknown_);
    }
    ids.push_back(found->second);
    begin = end;
  }
}

}  // namespace tapeformer
