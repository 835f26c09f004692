// Prepares the tokenizer and the tokens that a language model's configuration names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/text/text_source.h"
#include "data/text/token_cache.h"
#include "tokenizer/train_tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

struct LanguageData {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenFile train;
  std::optional<TokenFile> valid;     // nullopt if the validation part has fewer than two tokens
  std::int64_t valid_unknown = 0;     // the number of validation tokens that are the unknown token
  std::vector<std::string> warnings;  // problems with the files and the cache, a sentence each
};

// The options for learning this configuration's tokenizer. `documents`: whether the text consists of documents.
TokenizerOptions tokenizer_options(const ResolvedConfig& config, bool documents);

// Reads or generates the text, and encodes it, in memory that does not depend on its size. Earlier results are taken
// from the cache. If no tokenizer is given, one is read from tokenizer.file, or learned from the training text; a
// character tokenizer learns from the validation text too. Throws Error when the training text is too short for the
// model's context, and UsageError for data.within_document when the training text has no documents or the tokenizer has
// no token for their ends.
LanguageData prepare_language_data(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer = nullptr,
                                   const ProgressMaker& progress = {});

}  // namespace tapeformer
