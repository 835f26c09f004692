// What `tapeformer tokenizer info` shows.
#pragma once

#include <optional>
#include <string>

#include "data/text/text_source.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer::cli {

struct TokenizerInfoRequest {
  std::optional<std::string> text;  // shown as the tokenizer splits it
  bool json = false;
};

// Writes to standard output. On a terminal the tokens of the text have alternating colours unless NO_COLOR is set;
// elsewhere each token is in brackets. Bytes that are not printable UTF-8 are written as \n, \t or \xE9. If there is a
// `source`, the compression of its text is measured.
void print_tokenizer_info(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source);

}  // namespace tapeformer::cli
