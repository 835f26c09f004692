// The vectors that a trained model gives to a text: those of its tokens in one layer, or one vector made of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.h"
#include "tasks/analysis/trained_embedder.h"
#include "tasks/common/load_run.h"

namespace tapeformer {

// Which of the tokens' vectors become the text's: all of them; their mean; that of the first, or of the last token.
enum class Pooling { none, mean, first, last };
template <>
struct Words<Pooling> {
  static constexpr std::pair<Pooling, std::string_view> list[] = {
      {Pooling::none, "none"}, {Pooling::mean, "mean"}, {Pooling::first, "first"}, {Pooling::last, "last"}};
};

struct TextVectorOptions {
  std::optional<std::int64_t> layer = std::nullopt;  // counted from the embedding's 0; nothing: the last one
  Pooling pooling = Pooling::mean;
  // Only the tokens of the first occurrence of this word; empty: all.
  std::string word = {};
};

struct TextVectors {
  std::vector<std::int32_t> ids;  // of the tokens whose vectors these are, or were made of
  std::int64_t unknown = 0;       // how many of the ids are the tokenizer's unknown token
  Tensor vectors;                 // f32 (ids, F) without pooling, else (1, F); contiguous
};

// Reads a text as a row of its own. Marks that the model's rows have around a text ([CLS], [SEP], the end of a source)
// are tokens too, which the mean leaves out. A word is found where no letter or digit stands beside it. A word at the
// beginning of the text, and the word that is asked for, are read as they stand behind a space where the tokenizer
// knows them only so. Throws Error for a text that does not have the word, or without tokens, or longer than the
// model's context; and UsageError for a layer that the model does not have.
TextVectors text_vectors(const TrainedEmbedder& model, std::string_view text, const TextVectorOptions& options = {});

// The vectors of the positions that the model adds to those of its tokens, f32 (context, dim) and contiguous; undefined
// where it has none.
Tensor position_vectors(const TrainedEmbedder& model);

// The tokens of a word by itself: as it stands behind a space, where the tokenizer knows it so. Throws Error for a word
// that it does not know.
std::vector<std::int32_t> word_tokens(const Tokenizer& tokenizer, std::string_view word);

// One of the layers (B, T, F), counted from the embedding's 0, as f32 and contiguous. Throws UsageError for a layer
// that is not there, and Error for vectors that are not finite.
Tensor layer_of(const std::vector<Variable>& layers, std::int64_t layer);

}  // namespace tapeformer
