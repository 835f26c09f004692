// Byte pair encoding over characters, as SentencePiece learns it and Llama, Mistral and Gemma use it. A space is
// written as "▁" (U+2581) and belongs to the word after it; a character without a token becomes the tokens of its
// bytes, <0x00> to <0xFF>, or the unknown token.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tokenizer/bpe/merge_table.h"
#include "tokenizer/bpe/pretoken_encoder.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

inline constexpr std::string_view kSpaceSign = "\u2581";

struct SentencePieceRules {
  // Says before which texts a space is put. A text is what stands between added tokens.
  enum class Space {
    none,
    first,  // before the beginning of the whole text
    each    // before every one
  };
  // Says which component of a tokenizer.json replaces spaces. The normalizer does it before normalized added tokens are
  // found, and puts a space also before a space. Metaspace does it after they are found: one with "▁" is no spaces.
  enum class Place { normalizer, metaspace };
  Space space = Space::each;
  Place place = Place::normalizer;
  bool split_words = false;  // text is split before each space, so that no token has a space inside
  bool fuse_unknown = true;  // one unknown token stands for several characters
  bool byte_fallback = true;
  bool strips_space = true;       // decoding takes a space away from the beginning of a text
  std::string unknown = "<unk>";  // the written unknown token; empty: none
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  // `written` has the tokens as files write them; `merges` are pairs of them, by rank. Throws Error: for a merge whose
  // parts or result are not tokens, or whose result has a space after a letter or a digit; for a missing token of a
  // byte, or unknown token.
  SentencePieceTokenizer(Vocabulary written, Pairs merges, SentencePieceRules rules);
  std::string kind() const override { return "sentencepiece"; }
  std::int64_t merge_count() const override { return std::ssize(merges_); }
  const std::vector<std::string>& written() const { return written_; }
  const Pairs& merges() const { return merges_; }
  const SentencePieceRules& rules() const { return rules_; }

 private:
  struct Symbols;
  SentencePieceTokenizer(Vocabulary& written, Pairs& merges, SentencePieceRules& rules, Symbols symbols);
  std::optional<std::string> normalized(std::string_view text, bool continues) const override;
  bool puts_space_before(std::string_view text, bool begins) const override;
  bool strips_space() const override { return rules_.strips_space; }
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  std::vector<std::string> written_;
  Pairs merges_;
  SentencePieceRules rules_;
  // The symbols that are no tokens, with ids after those of the vocabulary: single bytes and beginnings of characters.
  std::vector<std::string> parts_;
  MergeTable table_;
  std::vector<std::uint32_t> lengths_;  // bytes of each symbol
  std::vector<std::int32_t> byte_ids_;  // the token of each byte; -1: none
  mutable EncoderPool encoders_;
};

// The byte that a token such as <0x0A> stands for; nothing for any other token.
std::optional<char> byte_of_token(std::string_view written);

}  // namespace tapeformer
