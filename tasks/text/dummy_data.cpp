#include "tasks/text/dummy_data.h"

#include "core/error.h"
#include "core/random.h"
#include "tasks/common/models.h"
#include "tasks/text/language_data.h"

namespace tapeformer {

std::unique_ptr<Tokenizer> dummy_tokenizer(const ResolvedConfig& config, std::vector<std::string> special_tokens) {
  const Config::Tokenizer& wanted = config.tokenizer;
  const std::int64_t vocab = wanted.kind == TokenizerKind::character ? kDummyCharacters : wanted.vocab;
  std::string text;
  for (std::int64_t i = 0; i < vocab; ++i) text += ' ' + std::to_string(i);
  const std::string_view texts[] = {text};
  return train_tokenizer({.kind = "word", .vocab = vocab, .special_tokens = std::move(special_tokens)}, texts);
}

std::unique_ptr<Tokenizer> dummy_text_tokenizer(const ResolvedConfig& config, const RunFolder* run) {
  if (auto known = known_tokenizer(config, run)) return known;
  const bool documents = config.data.document != DocumentEnd::none || config.data.within_document;
  return dummy_tokenizer(config, tokenizer_options(config, documents).special_tokens);
}

std::vector<std::string> dummy_words(const Tokenizer& tokenizer) {
  std::vector<std::string> words;
  for (std::int64_t k = 0; k < kDummyLength; ++k) words.push_back(std::to_string(k));
  try {
    for (const std::string& word : words) tokenizer.encode(word);
    return words;
  } catch (const Error&) {  // characters that it does not know
  }
  const auto is_word = [&](std::int32_t id) {
    return !tokenizer.is_special(id) && tokenizer.token_bytes(id).find_first_of(" \t\n\r") == std::string_view::npos;
  };
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (is_word(id)) return std::vector<std::string>(kDummyLength, std::string(tokenizer.token_bytes(id)));
  }
  return words;
}

std::vector<std::int32_t> random_ids(std::int64_t count, const Tokenizer& tokenizer) {
  RandomStream random({});
  std::vector<std::int32_t> ids(count);
  const auto vocab = static_cast<std::uint32_t>(tokenizer.vocab_size());
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.next_u32() % vocab);
  return ids;
}

}  // namespace tapeformer
