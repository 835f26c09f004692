// WordPiece as BERT uses it (Devlin et al. 2019): the text is normalized, split at white space and punctuation, and
// each word becomes the longest tokens that it begins with; a token inside a word is written with "##" before it. A
// word that cannot be written so becomes the unknown token.
//
// A token at the beginning of a word stands for the word with a space before it, except for the signs before which
// Hugging Face's decoder removes the space (".", "?", "!", "," and endings such as "'s").
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// How BERT's normalizer changes a text. The names are those of tokenizer.json.
struct BertRules {
  bool clean_text = true;                  // removes control characters; other white space becomes a space
  bool handle_chinese_chars = true;        // puts spaces around CJK ideographs
  std::optional<bool> strip_accents = {};  // removes marks of the canonical decomposition; none: if lowercase
  bool lowercase = true;
};
std::string normalize_for_bert(std::string_view text, const BertRules& rules);

struct WordPieceRules {
  BertRules normalizer = {};
  std::string unknown = "[UNK]", prefix = "##";
  std::int64_t most_characters = 100;  // of a word that is not unknown
  bool cleanup = true;                 // of the decoder: removes spaces before signs
};

class WordPieceTokenizer : public Tokenizer {
 public:
  // `written` has the tokens as files write them. Throws Error if the unknown token is not among them.
  WordPieceTokenizer(const Vocabulary& written, WordPieceRules rules);
  std::string kind() const override { return "wordpiece"; }
  const std::vector<std::string>& written() const { return written_; }
  const WordPieceRules& rules() const { return rules_; }

 private:
  std::optional<std::string> normalized(std::string_view text, bool continues) const override;
  bool strips_space() const override { return true; }
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

  std::vector<std::string> written_;
  WordPieceRules rules_;
  // The tokens of the model that begin words, and the others.
  std::unordered_map<std::string_view, std::int32_t> beginnings_, insides_;
  std::size_t longest_ = 0;  // bytes of the longest token
};

}  // namespace tapeformer
