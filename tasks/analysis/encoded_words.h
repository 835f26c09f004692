// Rows of a model that reads texts: the special tokens around a text, and sentences of separate words.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nn/interfaces/model.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The special tokens around a text in a row of a model, and the limit of the row.
struct RowFrame {
  std::vector<std::int32_t> prefix, suffix;  // the special tokens before and after the text: [CLS] and [SEP]
  std::optional<std::int64_t> context;  // the largest number of tokens in a row, special ones too; nullopt: no limit
};
// Returns the frame for a model of plain text, which is not an encoder-decoder. Throws UsageError as masked_symbols()
// does, for a model whose rows have these tokens.
RowFrame row_frame(const Model& model, const Tokenizer& tokenizer);

// The tokens of a sentence. The tokens of word i are at the positions [begins[i], begins[i + 1]). If the space before
// the word is a token of its own, it is the first of them, and the word itself begins at firsts[i].
struct EncodedWords {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> begins{0};
  std::vector<std::int64_t> firsts = {};
};

// Encodes the words one by one, each but the first with the space before it; this gives the tokens of the whole
// sentence, since no tokenizer has a token that extends beyond the end of a word. The first word too has a space where
// the tokenizer knows it only in that form, as in text_tokens(). A word of which the tokenizer's normalizer leaves
// nothing, such as a lone control character, is the unknown token, so that every word has a token. Adds the special
// tokens of the frame at the ends. Throws Error for such a word if there is no unknown token.
EncodedWords encode_words(std::span<const std::string_view> words, const Tokenizer& tokenizer,
                          const RowFrame& frame = {});

// The special tokens [CLS], [SEP], … for a model whose rows have them; nullopt for other models. Throws UsageError as
// masked_symbols() does.
std::optional<MaskedSymbols> row_symbols(const Model& model, const Tokenizer& tokenizer);

// Puts a row of ids, i32 (1, T), on a tape.
Variable id_row(Tape& tape, std::span<const std::int32_t> ids);

// Makes a batch of rows of ids, i32 (rows, length of the longest); shorter rows are padded at the end.
Batch padded_rows(Tape& tape, std::span<const std::span<const std::int32_t>> rows);

}  // namespace tapeformer
