// The tokenizer and the tokens that a language model's configuration names.
#pragma once

#include <filesystem>
#include <functional>
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
  std::optional<TokenFile> valid;     // nothing if the validation part has fewer than two tokens
  std::int64_t valid_unknown = 0;     // how many of its tokens are the tokenizer's unknown token
  std::vector<std::string> warnings;  // what was odd about the files and the cache, a sentence each
};

// What the tokenizer of this configuration is learned by. `documents`: the text has ends of documents.
TokenizerOptions tokenizer_options(const ResolvedConfig& config, bool documents);

// Reads or generates the text, and encodes it, in memory that does not depend on its size. What was made before is
// taken from the cache. Without a tokenizer, one is read from tokenizer.file, or learned from the training text; char
// learns from the validation text too. Throws Error when the training text is too short for the model's context, and
// UsageError for data.within_document when the training text has no documents or the tokenizer no token for their ends.
LanguageData prepare_language_data(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer = nullptr,
                                   const ProgressMaker& progress = {});

}  // namespace tapeformer
