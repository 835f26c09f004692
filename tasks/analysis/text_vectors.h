// The vectors that a trained model gives to a text: one for each token in one layer, or one for the whole text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.h"
#include "tasks/analysis/trained_embedder.h"
#include "tasks/common/load_run.h"

namespace tapeformer {

// How the tokens' vectors are pooled: not at all; their mean; the vector of the first, or of the last token.
enum class Pooling { none, mean, first, last };
template <>
struct Words<Pooling> {
  static constexpr std::pair<Pooling, std::string_view> list[] = {
      {Pooling::none, "none"}, {Pooling::mean, "mean"}, {Pooling::first, "first"}, {Pooling::last, "last"}};
};

struct TextVectorOptions {
  std::optional<std::int64_t> layer = std::nullopt;  // 0 is the embedding; nullopt: the last layer
  Pooling pooling = Pooling::mean;
  // Only the tokens of the first occurrence of this word are used; empty: all tokens.
  std::string word = {};
};

struct TextVectors {
  std::vector<std::int32_t> ids;         // the tokens that the vectors belong to, or were pooled from
  Tensor vectors;                        // f32 (ids, F) without pooling, else (1, F); contiguous
  std::int64_t tokens = 0, unknown = 0;  // the tokens of the whole text, and how many of them are the unknown token
};

// Reads a text as a row of its own. The special tokens around the text ([CLS], [SEP], the end of a source) have vectors
// too, but the mean leaves them out. `options.word` must be a whole word in the text: no letter or digit may precede or
// follow it. The first word of the text, and `options.word`, are encoded with a space before them if the tokenizer
// knows them only in that form. Throws Error for a text that does not contain the word, or without tokens, or longer
// than the model's context; and UsageError for a layer that the model does not have.
TextVectors text_vectors(const TrainedEmbedder& model, std::string_view text, const TextVectorOptions& options = {});

// Encodes a text, without special tokens. A word tokenizer may know the first word only with a space before it: then
// the text is encoded with that space. `continues`: whether other text precedes this one.
std::vector<std::int32_t> text_tokens(const Tokenizer& tokenizer, std::string_view text, bool continues = false);

// The position embeddings that the model adds to its token embeddings, f32 (context, dim) and contiguous; an undefined
// tensor if it has none.
Tensor position_vectors(const TrainedEmbedder& model);

// The tokens of a single word, encoded with a space before it where the tokenizer knows it in that form. Throws Error
// for a word that it does not know.
std::vector<std::int32_t> word_tokens(const Tokenizer& tokenizer, std::string_view word);

// One of the layers (B, T, F), where 0 is the embedding, as f32 and contiguous. Throws UsageError for a layer that does
// not exist, and Error for vectors that are not finite.
Tensor layer_of(const std::vector<Variable>& layers, std::int64_t layer);

}  // namespace tapeformer
