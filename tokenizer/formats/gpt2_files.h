// GPT-2's pair of files: vocab.json, {"token": id, …}, and merges.txt, which has a first line "#version: …" and then a
// line "left right" for each merge, by rank. The files do not say which tokens are special: we take those that are
// neither a byte nor made by a merge, such as GPT-2's <|endoftext|>. If such a token has white space in it, merges are
// missing. The files have no place for the pattern by which text is split either: if it is not GPT-2's, we name it in
// the first line of merges.txt, which other programs skip.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/bpe/bpe_tokenizer.h"

namespace tapeformer {

struct Gpt2Files {
  std::string vocab, merges;  // the texts of the files, or their names
};

// Without a pattern, text is split by the one that merges.txt names. More special tokens may be added, as in
// special_tokens.h. Throws Error, naming the file and the line, and UsageError for the special tokens.
std::unique_ptr<Tokenizer> read_gpt2_files(const Gpt2Files& text, const Gpt2Files& names,
                                           std::optional<SplitPattern> pattern,
                                           std::span<const std::string> special_tokens);

// Throws Error for what the files cannot hold.
Gpt2Files write_gpt2_files(const Tokenizer& tokenizer);

}  // namespace tapeformer
