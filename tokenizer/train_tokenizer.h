// Learning tokenizers from texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct TokenizerOptions {
  std::string kind;                           // char, word or bpe
  std::int64_t vocab = 0;                     // the largest number of tokens, special ones included; not for char
  std::vector<std::string> special_tokens;    // in the order of their ids; word adds <unk> if it is not among them
  SplitPattern pattern = SplitPattern::gpt2;  // for bpe only
  // Bytes of memory for the tables that count the distinct pretokens of the texts (bpe and word); 0 for no bound.
  // Larger tables go to temporary files; the tokenizer is the same. After the texts are counted, bpe needs about 8
  // bytes for each byte of the distinct pretokens, and word needs the distinct pretokens themselves.
  std::size_t max_memory = std::size_t{1} << 30;
};

// Learns a vocabulary from texts that are added a few at a time. It keeps their distinct characters (char), or the
// number of times that each distinct pretoken occurs (word, bpe). The texts are plain text, and each is split by
// itself.
//
// The vocabulary is smaller than `vocab` if the texts do not have enough words or pairs. word takes the most frequent
// pretokens; among equally frequent ones, the first in the order of their bytes. bpe learns the most frequent pair
// first; among equally frequent ones, the one with the smallest left id, then the smallest right id. The result does
// not depend on the order of the texts, the number of threads, or max_memory.
class TokenizerTrainer {
 public:
  virtual ~TokenizerTrainer() = default;
  TokenizerTrainer(const TokenizerTrainer&) = delete;
  TokenizerTrainer& operator=(const TokenizerTrainer&) = delete;

  // Uses all threads. char and word throw InvalidUtf8, with the place in all the texts together.
  void add(std::span<const std::string_view> texts);
  // Must be called once, at the end. Throws Error when all texts were empty, and UsageError when a special token is
  // also an ordinary one.
  std::unique_ptr<Tokenizer> finish(const ProgressCallback& progress = {});

 protected:
  explicit TokenizerTrainer(std::vector<std::string> special_tokens) : special_tokens_(std::move(special_tokens)) {}
  const std::vector<std::string>& special_tokens() const { return special_tokens_; }
  // How many bytes the texts have that were added before the present ones.
  std::int64_t bytes() const { return bytes_; }

 private:
  virtual void take(std::span<const std::string_view> texts) = 0;
  virtual std::unique_ptr<Tokenizer> learn(const ProgressCallback& progress) = 0;

  std::vector<std::string> special_tokens_;
  std::int64_t bytes_ = 0;
};

// Throws UsageError for an unknown kind, for a vocabulary that is too small, and for special tokens that are empty,
// given twice or not UTF-8.
std::unique_ptr<TokenizerTrainer> make_tokenizer_trainer(const TokenizerOptions& options);

// The tokenizer of texts that are in memory.
std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> texts,
                                           const ProgressCallback& progress = {});

}  // namespace tapeformer
