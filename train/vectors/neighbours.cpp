#include "train/vectors/neighbours.h"

#include <algorithm>
#include <cmath>

#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

Tensor embedding_table(const TrainedEmbedder& model) {
  const std::map<std::string, Tensor> state = model.model->state_dict();
  const auto found = state.find(model.config.family().token_embedding);
  check(found != state.end(), "neighbours: a ", model.config.model.type, " has no token embedding");
  return found->second.to(DType::f32).contiguous();
}

// What a layer gives each token in a row of its own: (vocab, F).
Tensor layer_table(const TrainedEmbedder& model, std::int64_t layer) {
  constexpr std::int64_t kRows = 256;  // at once
  const std::int64_t vocab = model.tokenizer->vocab_size(), place = std::ssize(model.before);
  const std::int64_t length = place + 1 + std::ssize(model.after);
  Tensor table;
  for (std::int64_t begin = 0; begin < vocab; begin += kRows) {
    const std::int64_t rows = std::min(kRows, vocab - begin);
    std::vector<std::int32_t> ids;
    for (std::int64_t row = 0; row < rows; ++row) {
      ids.insert(ids.end(), model.before.begin(), model.before.end());
      ids.push_back(static_cast<std::int32_t>(begin + row));
      ids.insert(ids.end(), model.after.begin(), model.after.end());
    }
    Tape tape(no_grad);
    const Tensor x = Tensor::from(std::span<const std::int32_t>(ids), {rows, length});
    const Tensor vectors = layer_of(model.representations(Variable::constant(tape, x)), layer);
    if (!table.defined()) table = Tensor::empty({vocab, vectors.size(2)}, DType::f32);
    table.slice(0, begin, begin + rows).copy_from(vectors.slice(1, place, place + 1).reshape({rows, vectors.size(2)}));
  }
  return table;
}

}  // namespace

NeighbourFinder::NeighbourFinder(const TrainedEmbedder& model, std::optional<std::int64_t> layer)
    : model_(model), layer_(layer), table_(layer ? layer_table(model, *layer) : embedding_table(model)) {}

std::vector<Neighbour> NeighbourFinder::of_word(std::string_view word, std::int64_t count) const {
  const std::vector<std::int32_t> ids = word_tokens(*model_.tokenizer, word);
  const std::int64_t width = table_.size(1);
  std::vector<float> mean(width, 0.0f);
  for (const std::int32_t id : ids) {
    const std::span<const float> row = table_.span<float>().subspan(id * width, width);
    for (std::int64_t i = 0; i < width; ++i) mean[i] += row[i] / static_cast<float>(ids.size());
  }
  return nearest(mean, ids, count);
}

std::vector<Neighbour> NeighbourFinder::of_word_in(std::string_view text, std::string_view word,
                                                   std::int64_t count) const {
  check(layer_.has_value(), "neighbours: a word in a text needs a layer");
  const TextVectors found = text_vectors(model_, text, {.layer = layer_, .word = std::string(word)});
  return nearest(found.vectors.span<float>(), found.ids, count);
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
