// The output of `tapeformer tokenizer info`.
#pragma once

#include <optional>
#include <string>

#include "data/text/text_source.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer::cli {

struct TokenizerInfoRequest {
  std::optional<std::string> text;  // a text that is shown split into tokens
  bool json = false;
};

// Writes to standard output. On a terminal the tokens of the text have alternating colours unless NO_COLOR is set;
// elsewhere each token is in brackets. Bytes that are not printable UTF-8 are written as \n, \t or \xE9. If there is a
// `source`, prints how well the tokenizer compresses its text.
void print_tokenizer_info(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source);

}  // namespace tapeformer::cli
