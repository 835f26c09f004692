#include "tasks/sentences/sentence_vectors.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/losses/losses.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "core/parallel.h"
#include "data/text/encode_text.h"
#include "nn/interfaces/layer_widths.h"
#include "tasks/analysis/encoded_words.h"
#include "tasks/analysis/text_vectors.h"

namespace tapeformer {
namespace {

SentenceRow encode_sentence(std::string_view text, const std::string& where, const Tokenizer& tokenizer,
                            const RowFrame& frame) {
  SentenceRow row{.text = std::string(text), .ids = frame.prefix, .begin = std::ssize(frame.prefix)};
  try {
    std::ranges::copy(text_tokens(tokenizer, text), std::back_inserter(row.ids));
  } catch (const Error& error) {
    fail(where, error.what());
  }
  row.end = std::ssize(row.ids);
  check(row.end > row.begin, where, "expected two sentences, got one without tokens");
  std::ranges::copy(frame.suffix, std::back_inserter(row.ids));
  const std::int64_t length = std::ssize(row.ids);
  check(length <= frame.context.value_or(length), where, "a sentence has ", length,
        " tokens, special ones included: the model reads at most ", frame.context.value_or(0));
  return row;
}

}  // namespace

std::vector<SentenceRows> encode_sentences(std::span<const SentencePair> pairs, const std::string& origin,
                                           const Tokenizer& tokenizer, const RowFrame& frame, std::size_t first) {
  std::vector<SentenceRows> rows;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].source.empty() && pairs[i].target.empty()) continue;
    const std::string where = str_cat(origin, ": pair ", first + i, ": ");
    rows.push_back({encode_sentence(pairs[i].source, where, tokenizer, frame),
                    encode_sentence(pairs[i].target, where, tokenizer, frame)});
  }
  return rows;
}

std::optional<std::string> unknown_note(std::span<const SentenceRows> pairs, const Tokenizer& tokenizer,
                                        const std::string& origin, double share) {
  std::int64_t unknown = 0, tokens = 0;
  for (const SentenceRows& pair : pairs) {
    for (const SentenceRow* row : {&pair.first, &pair.second})
      unknown += count_unknown(row->ids, tokenizer), tokens += std::ssize(row->ids);
  }
  return unknown_note(unknown, tokens, tokenizer, origin, share);
}

Variable unit_vectors(Tape& tape, const Model& model, std::span<const SentenceRow* const> rows) {
  constexpr double kLeastSquare = 1e-24;  // so that a vector of zeros is not divided by 0
  std::vector<std::span<const std::int32_t>> ids;
  for (const SentenceRow* row : rows) ids.emplace_back(row->ids);
  const Batch batch = padded_rows(tape, ids);
  const std::int64_t count = std::ssize(rows), length = batch.input_ids.size(1);
  const Variable vectors = model.hidden_states(batch).back();
  std::vector<double> weights(count * length, 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [begin, end] = std::pair(rows[i]->begin, rows[i]->end);
    std::fill_n(weights.begin() + i * length + begin, end - begin, 1 / static_cast<double>(end - begin));
  }
  const Tensor means = Tensor::from(std::span<const double>(weights), {count, 1, length}).to(vectors.dtype());
  const Variable pooled = reshape(matmul(Variable::constant(tape, means), vectors), {count, vectors.size(2)});
  return div(pooled, sqrt(add_scalar(sum(square(pooled), 1, /*keep=*/true), kLeastSquare)));
}

Variable contrastive_loss(const Variable& u, const Variable& v, std::int64_t first_target, double temperature,
                          double normalizer, std::span<const std::string_view> texts) {
  const std::int64_t rows = u.size(0), columns = v.size(0);
  std::vector<std::int32_t> targets(rows);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int32_t>(first_target + i);
  Variable logits = scale(matmul(u, transpose(v, 0, 1)), 1 / temperature);
  constexpr double kLeft = -1e30;  // e^x of it is 0
  std::vector<double> left_out(texts.empty() ? 0 : rows * columns, 0.0);
  bool any = false;
  for (std::size_t at = 0; at < left_out.size(); ++at) {
    const auto target = static_cast<std::size_t>(targets[at / columns]), other = at % columns;
    if (other == target || texts[other] != texts[target]) continue;
    left_out[at] = kLeft;
    any = true;
  }
  if (any) {
    const Tensor mask = Tensor::from(std::span<const double>(left_out), {rows, columns}).to(logits.dtype());
    logits = add(logits, Variable::constant(*u.tape(), mask));
  }
  const Tensor right = Tensor::from(std::span<const std::int32_t>(targets), {std::ssize(targets)});
  return cross_entropy(logits, Variable::constant(*u.tape(), right), {.normalizer = normalizer});
}

Evaluation evaluate(const Model& model, std::span<const SentenceRows> pairs, double temperature, std::int64_t batch,
                    const ProgressCallback& progress, Communicator& ranks) {
  const std::int64_t count = std::ssize(pairs);
  const std::int64_t width = layers_of_one_token(model).back().size(2);
  std::vector<double> vectors(2 * count * width, 0.0);  // (2, count, F): the first sentences, then the second ones
  for_own_batches(chunk_count(count, batch), ranks, progress, [&](std::int64_t i) {
    const std::int64_t begin = i * batch, end = std::min(count, begin + batch);
    for (const bool second : {false, true}) {
      std::vector<const SentenceRow*> rows;
      for (std::int64_t k = begin; k < end; ++k) rows.push_back(second ? &pairs[k].second : &pairs[k].first);
      Tape tape(no_grad);
      const Tensor found = unit_vectors(tape, model, rows).value().to(DType::f64).contiguous();
      std::ranges::copy(found.span<double>(), vectors.begin() + ((second ? count : 0) + begin) * width);
    }
  });
  ranks.sum(vectors);
  Evaluation total{.tokens = count};
  std::int64_t right = 0;
  std::vector<double> scores(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double* const u = vectors.data() + i * width;
    for (std::int64_t j = 0; j < count; ++j) {
      const double* const v = vectors.data() + (count + j) * width;
      scores[j] = 0;
      for (std::int64_t k = 0; k < width; ++k) scores[j] += u[k] * v[k];
    }
    const double most = std::ranges::max(scores);
    double sum = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const bool is_negative = pairs[j].second.text != pairs[i].second.text;
      if (j == i || is_negative) sum += std::exp((scores[j] - most) / temperature);
    }
    total.nats += std::log(sum) + (most - scores[i]) / temperature;
    const auto found = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
    right += pairs[found].second.text == pairs[i].second.text;  // several pairs may have the same sentence
  }
  total.metrics = {{"accuracy", static_cast<double>(right) / static_cast<double>(count)}};
  total.metric_for_best_model = "accuracy";
  return total;
}

}  // namespace tapeformer
