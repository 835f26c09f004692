// The tokenizer and the tokens that a language model's configuration names.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/text/text_source.h"
#include "data/text/token_cache.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

struct LanguageData {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenFile train;
  std::optional<TokenFile> valid;  // nothing where the validation part has fewer than two tokens
};

// The folder for token files, which any run of the same text and tokenizer shares: $TAPEFORMER_CACHE, or tapeformer in
// the user's cache folder.
std::filesystem::path token_cache_folder();

// How the configuration says that text files are read.
TextOptions text_options(const ResolvedConfig& config);

// Reads or generates the text, and encodes it, in memory that does not depend on its size; what was made before is
// found in the cache. Without a tokenizer, one is read from tokenizer.file or learned: from the training text,
// characters from the validation text too. Throws Error when the training text is too short for the model's context,
// UsageError for data.within_document where the training text has no documents or the tokenizer no token for their
// ends.
LanguageData prepare_language_data(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer = nullptr,
                                   const ProgressMaker& progress = {});

}  // namespace tapeformer
