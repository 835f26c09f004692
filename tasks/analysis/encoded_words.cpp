#include "tasks/analysis/encoded_words.h"

#include <algorithm>
#include <string>

#include "autograd/tape/tape.h"
#include "tasks/analysis/text_vectors.h"

namespace tapeformer {
namespace {

// Whether the first token of " word" is only the space, and the other tokens are those of the word.
bool begins_with_space(std::span<const std::int32_t> ids, std::string_view word, const Tokenizer& tokenizer) {
  return ids.size() > 1 && std::ranges::equal(ids.subspan(1), tokenizer.encode_continuation(word));
}

}  // namespace

RowFrame row_frame(const Model& model, const Tokenizer& tokenizer) {
  RowFrame frame;
  if (model.document_token() >= 0) frame.prefix = {model.document_token()};
  if (const auto symbols = row_symbols(model, tokenizer)) {
    frame.prefix = {symbols->classification}, frame.suffix = {symbols->separator};
  }
  if (!model.can_exceed_context()) frame.context = model.context();
  return frame;
}

EncodedWords encode_words(std::span<const std::string_view> words, const Tokenizer& tokenizer, const RowFrame& frame) {
  EncodedWords encoded{.ids = frame.prefix};
  encoded.begins[0] = std::ssize(encoded.ids);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text.assign(" ").append(words[i]);
    std::vector<std::int32_t> ids = i == 0 ? text_tokens(tokenizer, words[0]) : tokenizer.encode_continuation(text);
    if (ids.empty() && !words[i].empty()) {
      check(tokenizer.unknown_id().has_value(), "the word \"", words[i], "\" has no tokens");
      ids = {*tokenizer.unknown_id()};
    }
    const bool has_space = i > 0 && begins_with_space(ids, words[i], tokenizer);
    encoded.firsts.push_back(std::ssize(encoded.ids) + (has_space ? 1 : 0));
    encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
    encoded.begins.push_back(std::ssize(encoded.ids));
  }
  encoded.ids.insert(encoded.ids.end(), frame.suffix.begin(), frame.suffix.end());
  return encoded;
}

std::optional<MaskedSymbols> row_symbols(const Model& model, const Tokenizer& tokenizer) {
  return model.has_special_tokens() ? std::optional(masked_symbols(tokenizer)) : std::nullopt;
}

Variable id_row(Tape& tape, std::span<const std::int32_t> ids) {
  return Variable::constant(tape, Tensor::from(ids, {1, std::ssize(ids)}));
}

Batch padded_rows(Tape& tape, std::span<const std::span<const std::int32_t>> rows) {
  std::vector<std::int32_t> lengths;
  for (const auto& row : rows) lengths.push_back(static_cast<std::int32_t>(row.size()));
  const std::int64_t count = std::ssize(rows), length = std::ranges::max(lengths);
  std::vector<std::int32_t> ids(count * length, 0);
  for (std::int64_t i = 0; i < count; ++i) std::ranges::copy(rows[i], ids.begin() + i * length);
  return {Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {count, length})),
          Tensor::from(std::span<const std::int32_t>(lengths), {count})};
}

}  // namespace tapeformer
