#include <algorithm>
#include <limits>
#include <unordered_set>

#include "autograd/core/error.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/word_tokenizer.h"

namespace tapeformer {
namespace {

void check_vocab(const TokenizerOptions& options, std::int64_t bytes, std::int64_t specials) {
  const std::int64_t least = bytes + specials, most = std::numeric_limits<std::int32_t>::max();
  const std::string parts = concat(bytes > 0 ? concat(bytes, " bytes and ") : "", specials, " special");
  if (options.vocab < least) {
    fail_usage("tokenizer: a vocabulary of ", options.vocab, " is too small for ", options.kind, ": expected at least ",
               least, " (", parts, ")");
  }
  if (options.vocab > most) fail_usage("tokenizer: a vocabulary of ", options.vocab, " is above ", most);
}

// The special tokens behind the ordinary ones, none of which may be written the same.
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

}  // namespace

std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> texts,
                                           const TrainProgress& progress) {
  std::vector<std::string> specials = options.special_tokens;
  if (options.kind == "word" && std::find(specials.begin(), specials.end(), "<unk>") == specials.end()) {
    specials.push_back("<unk>");
  }
  check_special_tokens(specials);
  const auto special_count = static_cast<std::int64_t>(specials.size());
  const auto require_text = [&] {
    const bool empty = std::all_of(texts.begin(), texts.end(), [](std::string_view text) { return text.empty(); });
    check(!empty, "tokenizer: the text to train on is empty");
  };
  const CountProgress on_count = [&](std::int64_t done, std::int64_t wanted) {
    if (progress) progress(TrainPhase::count, done, wanted);
  };
  const auto as_it_is = [](const std::string& token) { return token; };

  if (options.kind == "char") {
    require_text();
    return std::make_unique<CharTokenizer>(with_special_tokens(CharTokenizer::learn(texts), specials, as_it_is));
  }
  if (options.kind == "word") {
    check_vocab(options, 0, special_count);
    require_text();
    std::vector<std::string> words =
        WordTokenizer::learn(texts, options.vocab - special_count, options.max_memory, on_count);
    return std::make_unique<WordTokenizer>(with_special_tokens(std::move(words), specials, as_it_is));
  }
  if (options.kind == "bpe") {
    check_vocab(options, 256, special_count);
    require_text();
    std::vector<std::string> tokens;
    for (const std::uint8_t byte : byte_order()) tokens.emplace_back(1, static_cast<char>(byte));
    const CountOptions counting{options.pattern, options.max_memory};
    std::vector<BpeMerge> merges =
        learn_merges(count_pieces(texts, counting, on_count), options.vocab - 256 - special_count, progress);
    for (const BpeMerge& merge : merges) tokens.push_back(tokens[merge.left] + tokens[merge.right]);
    return std::make_unique<BpeTokenizer>(with_special_tokens(std::move(tokens), specials, write_bytes),
                                          std::move(merges), options.pattern);
  }
  fail_usage("tokenizer: unknown kind '", options.kind, "': expected char, word or bpe");
}

}  // namespace tapeformer
