// The tokens that a folder of Hugging Face adds to its tokenizer in files beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Returns the tokenizer with the tokens that the folder's tokenizer_config.json (added_tokens_decoder) or, without
// that key, its added_tokens.json has and the tokenizer has not, as transformers adds them: in the order of their ids,
// from the first free id on. A token for which a model of `vocab` tokens has no row is left out, with a warning. Throws
// Error, naming the file or folder, for tokens that do not fit those of the tokenizer.
std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> tokenizer, const std::filesystem::path& folder,
                                             std::int64_t vocab, std::vector<std::string>& warnings);

}  // namespace tapeformer
