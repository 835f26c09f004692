// Finds the tokens whose vectors are the nearest to a word's vector by cosine similarity.
#pragma once

#include "tasks/analysis/text_vectors.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer {

struct Neighbour {
  std::int32_t id = 0;
  double similarity = 0;  // cos(a, b) = a·b / (|a| |b|); 0 where one of them is zero
};

// Without a layer, a token's vector is its row of the token embedding, or, for a model without one, its vector in layer
// 0. With a layer, it is the output of that layer for a row that has only this token (and the special tokens).
class NeighbourFinder {
 public:
  // The model must outlive the finder. Throws UsageError for a layer that the model does not have.
  NeighbourFinder(const TrainedEmbedder& model, std::optional<std::int64_t> layer);

  // Returns the `count` nearest tokens of a word, the nearest first, without the word's own tokens and special tokens.
  // The word's vector is the mean of its tokens'. "a - b + c" adds and subtracts the vectors of words, each divided by
  // its length (Mikolov et al. 2013). Throws UsageError for an empty word, and Error for one that the tokenizer does
  // not know.
  std::vector<Neighbour> of_word(std::string_view words, std::int64_t count) const;
  // Like of_word(), but a word's vector is the output of the layer at the first occurrence of the word in `text`.
  // Throws Error without a layer, and as text_vectors() does.
  std::vector<Neighbour> of_word_in(std::string_view text, std::string_view words, std::int64_t count) const;

 private:
  // The tokens of a word, and the word's vector.
  struct Word {
    std::vector<std::int32_t> ids;
    std::vector<float> vector;
  };
  Word word_vector(std::string_view word) const;
  Word word_vector_in(std::string_view text, std::string_view word) const;
  // The nearest tokens of the sum of vector_of(word) over the terms of `words`, with their signs.
  template <class VectorOf>
  std::vector<Neighbour> nearest_to_sum(std::string_view words, std::int64_t count, const VectorOf& vector_of) const;
  std::vector<Neighbour> nearest(std::span<const float> vector, std::span<const std::int32_t> without,
                                 std::int64_t count) const;

  const TrainedEmbedder& model_;
  std::optional<std::int64_t> layer_;
  Tensor table_;  // f32 (vocab, F)
};

}  // namespace tapeformer
