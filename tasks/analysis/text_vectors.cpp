#include "tasks/analysis/text_vectors.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "autograd/tape/tape.h"
#include "core/text/utf8.h"
#include "data/text/encode_text.h"
#include "nn/layers/positions.h"
#include "tasks/analysis/encoded_words.h"
#include "tasks/analysis/trained_embedder.h"
#include "tokenizer/unicode/normalization.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {

std::vector<std::int32_t> text_tokens(const Tokenizer& tokenizer, std::string_view text, bool continues) {
  std::vector<std::int32_t> ids = continues ? tokenizer.encode_continuation(text) : tokenizer.encode(text);
  const std::optional<std::int32_t> unknown = tokenizer.unknown_id();
  if (!unknown || ids.empty() || ids.front() != *unknown) return ids;
  std::vector<std::int32_t> spaced = tokenizer.encode(" " + std::string(text));
  const bool same_words = spaced.size() == ids.size();  // the space is not a token of its own
  return same_words && spaced.front() != *unknown ? spaced : ids;
}

namespace {

// The range of the tokens whose vectors are wanted.
struct Part {
  std::int64_t begin = 0, end = 0;
};

// Whether a word beside this character would go on with it: a letter or digit, or a mark on one. From U+00C0 on, these
// are all characters except spaces, punctuation, emoji, and signs such as those of currencies and mathematics, and
// except those of Chinese, Japanese, Thai, Lao, Burmese and Khmer, which put no spaces between words.
bool belongs_to_word(std::int32_t character) {
  if (character < 0x80) return character >= 0 && std::isalnum(character);
  if (character < 0xC0 || category(character) == Category::punctuation) return false;
  const auto lies_in = [&](std::int32_t first, std::int32_t last) { return character >= first && character <= last; };
  if (lies_in(0x0E00, 0x0EFF) || lies_in(0x1000, 0x109F) || lies_in(0x1780, 0x17FF) || lies_in(0x3000, 0x30FF) ||
      lies_in(0x3400, 0x9FFF) || lies_in(0xF900, 0xFAFF) || lies_in(0x20000, 0x3FFFF))
    return false;
  const CharClass kind = char_class(character);
  if (kind != CharClass::other) return kind != CharClass::space;
  return !(character == 0xD7 || character == 0xF7 || lies_in(0x2000, 0x2BFF) || lies_in(0xFE00, 0xFE0F) ||
           lies_in(0x1F000, 0x1FBFF));
}

std::int32_t character_before(std::string_view text, std::size_t at) {
  do --at;
  while (at > 0 && is_continuation_byte(text[at]));
  return read_utf8(text, at).code_point;
}

std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !belongs_to_word(character_before(text, at));
    if (begins && (end == text.size() || !belongs_to_word(read_utf8(text, end).code_point))) return at;
  }
  fail("expected the word ", word, " in it, got ", text);
}

// Returns which of the text's tokens have bytes of text[begin, end); nothing where the tokens' bytes are not the
// text's.
std::optional<Part> tokens_of(const Tokenizer& tokenizer, std::span<const std::int32_t> ids, std::string_view text,
                              std::size_t begin, std::size_t end) {
  Part part;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
    const std::string_view bytes = tokenizer.token_bytes(ids[i]);
    if (!text.substr(at).starts_with(bytes)) return std::nullopt;
    if (at + bytes.size() <= begin) part.begin = i + 1;
    if (at < end) part.end = i + 1;
    at += bytes.size();
  }
  return at == text.size() ? std::optional(part) : std::nullopt;
}

// Appends the text's tokens to `ids`, and returns the range of the word's tokens. A token may begin before the word,
// such as "-cat". Where the tokens do not have the text's bytes, as those of BERT and <unk>, the text before the word,
// the word and the text after it are encoded separately. The space before a word is part of the word's token, except
// that a character tokenizer has a token for the space.
Part encode(const Tokenizer& tokenizer, std::string_view text, std::string_view word, std::vector<std::int32_t>& ids) {
  const auto append = [&](std::string_view part) {
    const Part range{std::ssize(ids), 0};
    const bool continues = part.data() != text.data();
    const bool begins = !continues || part == word;
    if (!part.empty()) {
      std::ranges::copy(begins ? text_tokens(tokenizer, part, continues) : tokenizer.encode_continuation(part),
                        std::back_inserter(ids));
    }
    return Part{range.begin, std::ssize(ids)};
  };
  if (word.empty()) return append(text);
  const std::size_t at = find_word(text, word), end = at + word.size();
  const std::size_t begin = at > 0 && text[at - 1] == ' ' && tokenizer.kind() != "char" ? at - 1 : at;
  const std::vector<std::int32_t> whole = text_tokens(tokenizer, text, false);
  if (const std::optional<Part> part = tokens_of(tokenizer, whole, text, begin, end)) {
    const std::int64_t before = std::ssize(ids);
    std::ranges::copy(whole, std::back_inserter(ids));
    return {before + part->begin, before + part->end};
  }
  append(text.substr(0, begin));
  const Part range = append(text.substr(begin, end - begin));
  append(text.substr(end));
  return range;
}

// The mean of the rows of `part` of x (T, F), as (1, F).
Tensor mean_of(const Tensor& x, const Part& part) {
  const std::int64_t width = x.size(1);
  std::vector<double> sum(width, 0.0);
  for (std::int64_t t = part.begin; t < part.end; ++t) {
    for (std::int64_t i = 0; i < width; ++i) sum[i] += x.data<float>()[t * width + i];
  }
  const Tensor mean = Tensor::empty({1, width}, DType::f32);
  for (std::int64_t i = 0; i < width; ++i) {
    mean.data<float>()[i] = static_cast<float>(sum[i] / static_cast<double>(part.end - part.begin));
  }
  return mean;
}

}  // namespace

std::vector<std::int32_t> word_tokens(const Tokenizer& tokenizer, std::string_view word) {
  const auto knows = [&](const std::vector<std::int32_t>& ids) {
    return !ids.empty() && count_unknown(ids, tokenizer) == 0;
  };
  std::vector<std::int32_t> ids;
  if (tokenizer.kind() != "char") ids = tokenizer.encode_continuation(" " + std::string(word));
  if (!knows(ids)) ids = tokenizer.encode(word);
  check(knows(ids), "word: expected one that the tokenizer knows, got ", word);
  return ids;
}

Tensor layer_of(const std::vector<Variable>& layers, std::int64_t layer) {
  const std::int64_t last = std::ssize(layers) - 1;
  if (layer < 0 || layer > last) fail_usage("--layer: expected 0 (the embedding) to ", last, ", got ", layer);
  const Tensor vectors = layers[layer].value().to(DType::f32).contiguous();
  check(std::ranges::all_of(vectors.span<float>(), [](float x) { return std::isfinite(x); }),
        "the model's vectors are not finite numbers");
  return vectors;
}

TextVectors text_vectors(const TrainedEmbedder& model, std::string_view text, const TextVectorOptions& options) {
  std::vector<std::int32_t> ids = model.prefix;
  Part part = encode(*model.tokenizer, text, options.word, ids);
  const std::int64_t tokens = std::ssize(ids) - std::ssize(model.prefix),
                     unknown = count_unknown(ids, *model.tokenizer);
  check(tokens > 0, "the text has no tokens");
  std::ranges::copy(model.suffix, std::back_inserter(ids));
  const std::int64_t length = std::ssize(ids);
  check(length <= model.context.value_or(length), "the text has ", length, " tokens",
        model.prefix.empty() && model.suffix.empty() ? "" : ", special tokens included", ": the model reads at most ",
        model.context.value_or(0));
  if (options.word.empty() && options.pooling != Pooling::mean) part = {0, length};

  Tape tape(no_grad);
  const std::vector<Variable> layers = model.model->hidden_states({.input_ids = id_row(tape, ids)});
  const Tensor found = layer_of(layers, options.layer.value_or(std::ssize(layers) - 1));
  const Tensor vectors = found.reshape({length, found.size(2)});

  if (options.pooling == Pooling::first) part.end = part.begin + 1;
  if (options.pooling == Pooling::last) part.begin = part.end - 1;
  const bool is_mean = options.pooling == Pooling::mean;
  return {{ids.begin() + part.begin, ids.begin() + part.end},
          is_mean ? mean_of(vectors, part) : vectors.slice(0, part.begin, part.end),
          tokens,
          unknown};
}

Tensor position_vectors(const TrainedEmbedder& model) {
  const PositionEmbedding* const positions = model.model->position_embedding();
  if (!positions || !positions->has_vectors() || !model.context) return {};
  Tape tape(no_grad);
  return positions->forward(tape, {}, *model.context).value().to(DType::f32).contiguous();
}

}  // namespace tapeformer
