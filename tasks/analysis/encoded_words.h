// Sentences of words as rows of a text encoder.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nn/interfaces/text_encoder.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The tokens of a sentence. Those of word i are [begins[i], begins[i + 1]). They begin with the space before the word
// where that has a token of its own; the word itself begins at firsts[i].
struct EncodedWords {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> begins{0};
  std::vector<std::int64_t> firsts = {};
};

// Words are encoded one by one, each but the first with the space before it: no kind of tokenizer has a token that
// reaches over the end of a word. `symbols` begin and end the row of a model that reads marked rows.
EncodedWords encode_words(std::span<const std::string_view> words, const Tokenizer& tokenizer,
                          const std::optional<MaskedSymbols>& symbols);

// The symbols of a model that reads marked rows; nothing for other models. Throws UsageError as masked_symbols() does.
std::optional<MaskedSymbols> row_symbols(const TextEncoder& model, const Tokenizer& tokenizer);

// Rows of ids, with padding behind those that are shorter than the longest.
EncoderBatch padded_rows(Tape& tape, std::span<const std::span<const std::int32_t>> rows);

}  // namespace tapeformer
