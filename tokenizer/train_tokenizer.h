// Learns tokenizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct TokenizerOptions {
  std::string kind;                           // char, word or bpe
  std::int64_t vocab = 0;                     // at most so many tokens, special ones counted; char takes no notice
  std::vector<std::string> special_tokens;    // in the order of their ids; word adds <unk> where it is not among them
  SplitPattern pattern = SplitPattern::gpt2;  // of bpe; the others take no notice
  // Bytes for the tables in which the texts' distinct pretokens are counted (bpe and word); 0 for no bound. What
  // outgrows them goes to temporary files. The tokenizer learned is the same. Once the texts are counted, bpe takes
  // some 8 bytes for each byte of the distinct pretokens, and word the distinct pretokens themselves.
  std::size_t max_memory = std::size_t{1} << 30;
};

// How many of the wanted merges are learned; called now and then by bpe, not by the others.
using MergeProgress = std::function<void(std::int64_t done, std::int64_t wanted)>;

// Learns a vocabulary from texts that are handed in a few at a time: what is kept of them are their distinct characters
// (char), or how often each of their distinct pretokens occurs. The texts are plain text, and each is split by itself.
//
// The vocabulary is smaller than asked for when the texts run out of characters, words or pairs. word takes the most
// frequent pretokens, of equally frequent ones the first in the order of their bytes. bpe learns the most frequent pair
// first; of equally frequent ones the one with the smallest left id, then the smallest right id. Neither the order of
// the texts nor the number of threads nor max_memory makes a difference.
class TokenizerTrainer {
 public:
  virtual ~TokenizerTrainer() = default;
  TokenizerTrainer(const TokenizerTrainer&) = delete;
  TokenizerTrainer& operator=(const TokenizerTrainer&) = delete;

  // Uses all threads. Throws Error for invalid UTF-8 unless bpe, with its place in all texts put one after another.
  void add(std::span<const std::string_view> texts);
  // To be called once. Throws Error where all texts were empty, and UsageError where a special token is an ordinary one
  // as well.
  std::unique_ptr<Tokenizer> finish(const MergeProgress& progress = {});

 protected:
  explicit TokenizerTrainer(std::vector<std::string> special_tokens) : special_tokens_(std::move(special_tokens)) {}
  const std::vector<std::string>& special_tokens() const { return special_tokens_; }
  // Bytes of the texts before those that are added now.
  std::int64_t bytes() const { return bytes_; }

 private:
  virtual void take(std::span<const std::string_view> texts) = 0;
  virtual std::unique_ptr<Tokenizer> learn(const MergeProgress& progress) = 0;

  std::vector<std::string> special_tokens_;
  std::int64_t bytes_ = 0;
};

// Throws UsageError for an unknown kind, a vocabulary too small, and special tokens that are empty, repeated or not
// UTF-8.
std::unique_ptr<TokenizerTrainer> make_tokenizer_trainer(const TokenizerOptions& options);

// Of texts that are there.
std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> texts);

}  // namespace tapeformer
