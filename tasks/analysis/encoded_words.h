// Encodes sentences of separate words as rows of a text encoder.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nn/interfaces/model.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The tokens of a sentence. The tokens of word i are [begins[i], begins[i + 1]). They include the space before the word
// where it is a token of its own; the first token of the word itself is at firsts[i].
struct EncodedWords {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> begins{0};
  std::vector<std::int64_t> firsts = {};
};

// Words are encoded one by one, each but the first with the space before it: no kind of tokenizer has a token that
// extends beyond the end of a word. `symbols` are added at both ends for a model whose rows have special tokens.
EncodedWords encode_words(std::span<const std::string_view> words, const Tokenizer& tokenizer,
                          const std::optional<MaskedSymbols>& symbols);

// The special tokens of the rows of such a model; nullopt for other models. Throws UsageError as masked_symbols() does.
std::optional<MaskedSymbols> row_symbols(const Model& model, const Tokenizer& tokenizer);

// Makes a batch of rows of ids; shorter rows are padded at the end to the longest.
Batch padded_rows(Tape& tape, std::span<const std::span<const std::int32_t>> rows);

}  // namespace tapeformer
