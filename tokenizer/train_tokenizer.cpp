#include "tokenizer/train_tokenizer.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "core/error.h"
#include "core/text/utf8.h"
#include "tokenizer/bpe/bpe_trainer.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/word_tokenizer.h"

namespace tapeformer {
namespace {

void check_vocab(const TokenizerOptions& options, std::int64_t bytes, std::int64_t specials) {
  const std::int64_t least = bytes + specials, most = std::numeric_limits<std::int32_t>::max();
  const std::string parts = str_cat(bytes > 0 ? str_cat(bytes, " bytes and ") : "", specials, " special");
  if (options.vocab < least) {
    fail_usage("tokenizer: a vocabulary of ", options.vocab, " is too small for ", options.kind, ": expected at least ",
               least, " (", parts, ")");
  }
  if (options.vocab > most) fail_usage("tokenizer: a vocabulary of ", options.vocab, " is above ", most);
}

// Puts the special tokens after the ordinary ones. Throws UsageError when an ordinary token is written like a special
// one.
template <class Write>
Vocabulary with_special_tokens(std::vector<std::string> tokens, std::span<const std::string> names, Write write) {
  std::unordered_set<std::string> written;
  for (const std::string& token : tokens) written.insert(write(token));
  Vocabulary vocabulary{std::move(tokens), {}};
  for (const std::string& name : names) {
    if (written.contains(name)) {
      fail_usage("tokenizer: special token '", name, "' is an ordinary token of the text as well; put it in <...>");
    }
    vocabulary.special_ids.push_back(static_cast<std::int32_t>(vocabulary.tokens.size()));
    vocabulary.tokens.push_back(name);
  }
  return vocabulary;
}

std::string as_it_is(const std::string& token) { return token; }

class CharTrainer : public TokenizerTrainer {
 public:
  explicit CharTrainer(std::vector<std::string> special_tokens) : TokenizerTrainer(std::move(special_tokens)) {}

 private:
  void take(std::span<const std::string_view> texts) override {
    std::int64_t before = bytes();
    for (const std::string_view text : texts) {
      for (std::size_t at = 0; at < text.size();) {
        const Utf8Char c = read_utf8(text, at);
        if (c.code_point == kInvalidUtf8) throw InvalidUtf8("char", before + static_cast<std::int64_t>(at));
        seen_[c.code_point] = true;
        at += c.length;
      }
      before += static_cast<std::int64_t>(text.size());
    }
  }

  std::unique_ptr<Tokenizer> learn(const ProgressCallback&) override {
    std::vector<std::string> tokens;
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(seen_.size()); ++c) {
      if (seen_[c]) append_utf8(tokens.emplace_back(), c);
    }
    return std::make_unique<CharTokenizer>(with_special_tokens(std::move(tokens), special_tokens(), as_it_is));
  }

  std::vector<bool> seen_ = std::vector<bool>(0x110000);  // by code point
};

class WordTrainer : public TokenizerTrainer {
 public:
  WordTrainer(const TokenizerOptions& options, std::vector<std::string> special_tokens)
      : TokenizerTrainer(std::move(special_tokens)),
        most_(options.vocab - static_cast<std::int64_t>(this->special_tokens().size())),
        pretokens_({.pattern = SplitPattern::gpt2, .max_memory = options.max_memory}) {}

 private:
  // Invalid UTF-8 is refused, since tokenizer.json cannot hold it.
  void take(std::span<const std::string_view> texts) override {
    std::int64_t before = bytes();
    for (const std::string_view text : texts) {
      const std::size_t invalid = find_invalid_utf8(text);
      if (invalid != std::string_view::npos) throw InvalidUtf8("word", before + static_cast<std::int64_t>(invalid));
      before += static_cast<std::int64_t>(text.size());
    }
    pretokens_.add(texts);
  }

  std::unique_ptr<Tokenizer> learn(const ProgressCallback&) override {
    struct Word {
      std::string text;
      std::int64_t count;
    };
    std::vector<Word> words;
    pretokens_.finish()->for_each([&](std::string_view pretoken, std::int64_t count) {
      words.push_back({std::string(pretoken), count});
    });
    std::sort(words.begin(), words.end(),
              [](const Word& a, const Word& b) { return a.count != b.count ? a.count > b.count : a.text < b.text; });
    std::vector<std::string> tokens;
    for (Word& word : std::span(words).first(std::min<std::size_t>(words.size(), most_))) {
      tokens.push_back(std::move(word.text));
    }
    return std::make_unique<WordTokenizer>(with_special_tokens(std::move(tokens), special_tokens(), as_it_is));
  }

  std::int64_t most_;
  PretokenCounter pretokens_;
};

class BpeTrainer : public TokenizerTrainer {
 public:
  BpeTrainer(const TokenizerOptions& options, std::vector<std::string> special_tokens)
      : TokenizerTrainer(std::move(special_tokens)),
        most_merges_(options.vocab - 256 - static_cast<std::int64_t>(this->special_tokens().size())),
        pattern_(options.pattern),
        pretokens_({.pattern = options.pattern, .max_memory = options.max_memory}) {}

 private:
  void take(std::span<const std::string_view> texts) override { pretokens_.add(texts); }

  std::unique_ptr<Tokenizer> learn(const ProgressCallback& progress) override {
    std::vector<std::string> tokens;
    for (const std::uint8_t byte : byte_order()) tokens.emplace_back(1, static_cast<char>(byte));
    std::vector<BpeMerge> merges = learn_merges(pretokens_.finish(), most_merges_, progress);
    for (const BpeMerge& merge : merges) tokens.push_back(tokens[merge.left] + tokens[merge.right]);
    return std::make_unique<BpeTokenizer>(with_special_tokens(std::move(tokens), special_tokens(), write_bytes),
                                          std::move(merges), pattern_);
  }

  std::int64_t most_merges_;
  SplitPattern pattern_;
  PretokenCounter pretokens_;
};

}  // namespace

void TokenizerTrainer::add(std::span<const std::string_view> texts) {
  take(texts);
  for (const std::string_view text : texts) bytes_ += static_cast<std::int64_t>(text.size());
}

std::unique_ptr<Tokenizer> TokenizerTrainer::finish(const ProgressCallback& progress) {
  check(bytes_ > 0,
        "tokenizer: expected a text to learn from, got none (it is empty, or held out for validation as a whole)");
  return learn(progress);
}

std::unique_ptr<TokenizerTrainer> make_tokenizer_trainer(const TokenizerOptions& options) {
  std::vector<std::string> specials = options.special_tokens;
  if (options.kind == "word" && std::find(specials.begin(), specials.end(), "<unk>") == specials.end()) {
    specials.push_back("<unk>");
  }
  check_special_tokens(specials);
  const auto special_count = static_cast<std::int64_t>(specials.size());
  if (options.kind == "char") return std::make_unique<CharTrainer>(std::move(specials));
  if (options.kind == "word") {
    check_vocab(options, 0, special_count);
    return std::make_unique<WordTrainer>(options, std::move(specials));
  }
  if (options.kind == "bpe") {
    check_vocab(options, 256, special_count);
    return std::make_unique<BpeTrainer>(options, std::move(specials));
  }
  fail_usage("tokenizer: unknown kind '", options.kind, "': expected char, word or bpe");
}

std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> texts,
                                           const ProgressCallback& progress) {
  const auto trainer = make_tokenizer_trainer(options);
  trainer->add(texts);
  return trainer->finish(progress);
}

}  // namespace tapeformer
