// What `tapeformer tokenizer info` shows.
#pragma once

#include <optional>
#include <string>

#include "data/text/text_source.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer::cli {

struct TokenizerInfoRequest {
  std::optional<std::string> text;  // to be shown as it splits
  bool json = false;
};

// Writes to standard output. On a terminal the tokens of the text alternate in colour, unless NO_COLOR is set; else
// each is in brackets. What is no printable UTF-8 is written as \n, \t or \xE9.
// Compression is measured on `source`, if any.
void print_tokenizer_info(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source);

}  // namespace tapeformer::cli
