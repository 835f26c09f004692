// GPT-2's pair of files: vocab.json, {"token": id, …}, and merges.txt, a line "left right" for each merge by rank,
// behind a first line "#version: …". They do not say which tokens are special: those are that are neither a byte nor
// made by a merge, as GPT-2's <|endoftext|> is; one with white space in it is a sign that merges are missing. Nor do
// they say by which pattern text is split.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

struct Gpt2Files {
  std::string vocab, merges;  // their text; in reading also their names
};

// More special tokens may be added, as in special_tokens.h. Throws Error, naming the file and the line, and UsageError
// for the special tokens.
std::unique_ptr<Tokenizer> read_gpt2_files(const Gpt2Files& text, const Gpt2Files& names, SplitPattern pattern,
                                           std::span<const std::string> special_tokens);

// Throws Error for what the files cannot hold.
Gpt2Files write_gpt2_files(const Tokenizer& tokenizer);

}  // namespace tapeformer
