#include "tasks/text/sentence_tokenizer.h"

#include "tokenizer/sentence_symbols.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

std::shared_ptr<const Tokenizer> train_sentence_tokenizer(const Config::Tokenizer& config,
                                                          std::span<const std::string_view> texts,
                                                          const ProgressMaker& progress) {
  TokenizerOptions options{.kind = word_of(config.kind), .vocab = config.vocab, .special_tokens = {}};
  options.special_tokens = {kPaddingToken, kBeginToken, kEndToken};
  if (config.kind != TokenizerKind::bpe) options.special_tokens.push_back("<unk>");  // bpe knows every byte
  return train_tokenizer(options, texts, start_progress(progress, "learning merges"));
}

}  // namespace tapeformer
