#include "tasks/analysis/neighbours.h"

#include <algorithm>
#include <cmath>

#include "autograd/tape/tape.h"
#include "data/text/encode_text.h"
#include "nn/layers/layers.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer {
namespace {

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

// A word of a sum, and whether it is added (1) or subtracted (-1).
struct Term {
  double sign;
  std::string_view word;
};

// Returns the text without the spaces around it.
std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// Splits a sum of words at " + " and " - ". The spaces around a word, which may be tokens of their own, are no part of
// it; only spaces alone are a word.
std::vector<Term> terms_of(std::string_view words) {
  if (!words.empty() && without_spaces(words).empty()) return {{1, words}};
  std::vector<Term> terms;
  double sign = 1;
  for (std::string_view rest = words;;) {
    const std::size_t end = std::min(rest.find(" + "), rest.find(" - "));
    const std::string_view word = without_spaces(rest.substr(0, end));
    if (word.empty()) fail_usage("neighbours: expected words, or words with + or - between them, got \"", words, '"');
    terms.push_back({sign, word});
    if (end == rest.npos) return terms;
    sign = rest[end + 1] == '+' ? 1 : -1;
    rest.remove_prefix(end + 3);
  }
}

// The output of a layer for each token of the vocabulary, in a row of its own: (vocab, F).
Tensor layer_table(const TrainedEmbedder& model, std::int64_t layer) {
  constexpr std::int64_t kRows = 256;  // tokens in one forward pass
  const std::int64_t vocab = model.tokenizer->vocab_size(), position = std::ssize(model.prefix);
  const std::int64_t length = position + 1 + std::ssize(model.suffix);
  Tensor table;
  for (std::int64_t begin = 0; begin < vocab; begin += kRows) {
    const std::int64_t rows = std::min(kRows, vocab - begin);
    std::vector<std::int32_t> ids;
    for (std::int64_t row = 0; row < rows; ++row) {
      ids.insert(ids.end(), model.prefix.begin(), model.prefix.end());
      ids.push_back(static_cast<std::int32_t>(begin + row));
      ids.insert(ids.end(), model.suffix.begin(), model.suffix.end());
    }
    Tape tape(no_grad);
    const Tensor x = Tensor::from(std::span<const std::int32_t>(ids), {rows, length});
    const Tensor vectors = layer_of(model.model->hidden_states({.input_ids = Variable::constant(tape, x)}), layer);
    if (!table.defined()) table = Tensor::empty({vocab, vectors.size(2)}, DType::f32);
    table.slice(0, begin, begin + rows)
        .copy_from(vectors.slice(1, position, position + 1).reshape({rows, vectors.size(2)}));
  }
  return table;
}

}  // namespace

NeighbourFinder::NeighbourFinder(const TrainedEmbedder& model, std::optional<std::int64_t> layer)
    : model_(model), layer_(layer) {
  const Embedding* const embedding = model.model->token_embedding();
  table_ = !layer && embedding ? embedding->weight.value().to(DType::f32).contiguous()
                               : layer_table(model, layer.value_or(0));
}

NeighbourFinder::Word NeighbourFinder::word_vector(std::string_view word) const {
  Word result{word_tokens(*model_.tokenizer, word), {}};
  const std::int64_t width = table_.size(1);
  result.vector.assign(width, 0.0f);
  for (const std::int32_t id : result.ids) {
    const std::span<const float> row = table_.span<float>().subspan(id * width, width);
    for (std::int64_t i = 0; i < width; ++i) result.vector[i] += row[i] / static_cast<float>(result.ids.size());
  }
  return result;
}

NeighbourFinder::Word NeighbourFinder::word_vector_in(std::string_view text, std::string_view word) const {
  const TextVectors found = text_vectors(model_, text, {.layer = layer_, .word = std::string(word)});
  check(count_unknown(found.ids, *model_.tokenizer) == 0, "word: expected one that the tokenizer knows, got ", word);
  return {found.ids, found.vectors.to_vector<float>()};
}

template <class VectorOf>
std::vector<Neighbour> NeighbourFinder::nearest_to_sum(std::string_view words, std::int64_t count,
                                                       const VectorOf& vector_of) const {
  std::vector<float> sum(table_.size(1), 0.0f);
  std::vector<std::int32_t> without;
  for (const auto& [sign, word] : terms_of(words)) {
    const Word found = vector_of(word);
    const double norm = std::sqrt(dot(found.vector, found.vector));
    for (std::size_t i = 0; norm > 0 && i < sum.size(); ++i)
      sum[i] += static_cast<float>(sign * found.vector[i] / norm);
    without.insert(without.end(), found.ids.begin(), found.ids.end());
  }
  return nearest(sum, without, count);
}

std::vector<Neighbour> NeighbourFinder::of_word(std::string_view words, std::int64_t count) const {
  return nearest_to_sum(words, count, [&](std::string_view word) { return word_vector(word); });
}

std::vector<Neighbour> NeighbourFinder::of_word_in(std::string_view text, std::string_view words,
                                                   std::int64_t count) const {
  check(layer_.has_value(), "neighbours: a word in a text needs a layer");
  return nearest_to_sum(words, count, [&](std::string_view word) { return word_vector_in(text, word); });
}

std::vector<Neighbour> NeighbourFinder::nearest(std::span<const float> vector, std::span<const std::int32_t> without,
                                                std::int64_t count) const {
  const std::int64_t vocab = table_.size(0), width = table_.size(1);
  const double norm = std::sqrt(dot(vector, vector));
  std::vector<Neighbour> all;
  for (std::int32_t id = 0; id < vocab; ++id) {
    if (model_.tokenizer->is_special(id) || std::ranges::count(without, id)) continue;
    const std::span<const float> row = table_.span<float>().subspan(id * width, width);
    const double norms = norm * std::sqrt(dot(row, row));
    all.push_back({id, norms > 0 ? dot(vector, row) / norms : 0});
  }
  check(std::ranges::all_of(all, [](const Neighbour& n) { return std::isfinite(n.similarity); }),
        "the model's vectors are not finite numbers");
  const auto end = all.begin() + std::min<std::int64_t>(count, std::ssize(all));
  std::ranges::partial_sort(all, end, [](const Neighbour& a, const Neighbour& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
  });
  all.erase(end, all.end());
  return all;
}

}  // namespace tapeformer
