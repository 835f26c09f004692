// A tokenizer as a folder of Hugging Face holds it: a file, and tokens that files beside it add.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Returns the folder's tokenizer.json, else its vocab.txt, else its vocab.json. Throws Error, naming the folder, if it
// has none of them.
std::filesystem::path tokenizer_file_in(const std::filesystem::path& folder);

// Returns the tokenizer with the tokens that the folder's tokenizer_config.json (added_tokens_decoder) or, without
// that key, its added_tokens.json has and the tokenizer has not, as transformers adds them: in the order of their ids,
// from the first free id on. A token for which a model of `vocab` tokens has no row is left out, with a warning. Throws
// Error, naming the file or folder, for tokens that do not fit those of the tokenizer.
std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> tokenizer, const std::filesystem::path& folder,
                                             std::int64_t vocab, std::vector<std::string>& warnings);

}  // namespace tapeformer
