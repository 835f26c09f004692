// Lets a model write nothing but a tree over the words of a sentence, as one line: "(S (NP dogs )NP (VP bark )VP )S".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generate/decoder.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The tokens of which trees are written, made once for all sentences.
class BracketVocabulary {
 public:
  // `end` is the token that ends a text. Throws UsageError for a tokenizer whose texts are not the bytes of its tokens
  // one after another (such as WordPiece), or that has no tokens for "(", " )", or any character of a label.
  BracketVocabulary(const Tokenizer& tokenizer, std::int32_t end);

  std::int32_t end() const { return end_; }
  // The bytes of a token of which texts may be written; empty for special tokens.
  std::string_view bytes(std::int32_t id) const { return tokens_[id]; }
  // Returns the number of tokens that write this text if each is the longest one that fits; nullopt if such tokens
  // cannot write it.
  std::optional<std::int64_t> tokens_of(std::string_view text) const;
  // A label that takes few tokens.
  const std::string& short_label() const { return short_label_; }

 private:
  std::int32_t end_;
  std::vector<std::string_view> tokens_;  // by id; the tokenizer owns the bytes
  std::unordered_map<std::string_view, std::int32_t> ids_;
  std::size_t longest_ = 0;  // the bytes of the longest token
  std::string short_label_;
};

// The trees over the words of one sentence: "(" and a label opens a bracket, ")" and the same label closes it, and all
// words come in their order. Single spaces are between them. Every bracket holds a word, and one bracket holds all
// others. A label consists of visible characters of ASCII, but no brackets. A token may be written only if enough
// tokens are left after it to complete the tree, so every text ends in time.
class BracketGrammar : public OutputGrammar {
 public:
  // `most`: the number of tokens of a text, the end token included. The vocabulary must outlive the grammar. Throws
  // Error for a sentence without words, with a word that begins with a bracket or that the vocabulary cannot write, or
  // whose shortest tree has more tokens.
  BracketGrammar(const BracketVocabulary& vocabulary, std::string_view sentence, std::int64_t most);

  Allowed allowed_after(std::span<const std::int32_t> written) const override;

 private:
  struct State;
  bool reads(State& state, char c) const;
  // The number of tokens that complete the tree; nullopt if it cannot be completed.
  std::optional<std::int64_t> tokens_left(const State& state) const;
  std::optional<std::int64_t> close_tokens(std::string_view label) const;

  const BracketVocabulary& vocabulary_;
  std::int64_t most_;
  std::vector<std::string> words_;
  std::vector<std::int64_t> word_tokens_;  // of the words from i on, each with the space before it
};

}  // namespace tapeformer
