#include "tasks/masked_language_model/masked_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops/activations.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

// Calls visit(i, log_p) for each row i of the features (N, F), where log_p has the log-probabilities of all tokens.
// Only a few rows of logits are in memory at a time.
template <class Visit>
void for_predictions(const MaskedLanguageModel& model, const Variable& features, const Visit& visit) {
  constexpr std::int64_t kRows = 64;
  const std::int64_t rows = features.size(0);
  for (std::int64_t begin = 0; begin < rows; begin += kRows) {
    const Tensor part = features.value().slice(0, begin, std::min(rows, begin + kRows));
    const Tensor log_p = log_softmax(model.logits(Variable::constant(*features.tape(), part))).value().to(DType::f64);
    const std::int64_t vocab = log_p.size(1);
    for (std::int64_t i = 0; i < part.size(0); ++i) visit(begin + i, log_p.span<double>().subspan(i * vocab, vocab));
  }
}

// Adds −ln P of the targets to nats. Returns for how many positions the target is the most probable token.
std::int64_t score(const MaskedLanguageModel& model, const TokenPrediction& masked, double& nats) {
  const std::vector<std::int32_t> targets = masked.targets.to_vector<std::int32_t>();
  std::int64_t right = 0;
  for_predictions(model, masked.features, [&](std::int64_t i, std::span<const double> log_p) {
    nats -= log_p[targets[i]];
    right += std::ranges::max_element(log_p) - log_p.begin() == targets[i];
  });
  return right;
}

double share(std::int64_t part, std::int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

}  // namespace

template <>
TrainedMaskedLanguageModel load_run(const RunSelection& source, const LoadOptions& options) {
  require_task(source, {"masked_language_model"});
  return load_text_model(source, options, make_masked_language_model);
}

MaskedRowOptions masked_row_options(const ResolvedConfig& config, std::int64_t batch) {
  const Config::Train& train = config.train;
  return {.batch = batch,
          .length = config.block_size(),
          .pairs = config.model.options.boolean("next_sentence"),
          .rates = {train.mlm_probability, train.mask_token, train.mask_random},
          .seed = static_cast<std::uint64_t>(train.seed)};
}

MaskedRows masked_rows(Tape& tape, const MaskedBatch& batch) {
  const Dims sizes{batch.rows, batch.length}, rows{batch.rows};
  const bool full = std::ranges::all_of(batch.lengths, [&](std::int32_t length) { return length == batch.length; });
  MaskedRows result{
      .text = {.input_ids = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch.ids), sizes))},
      .targets = Tensor::from(std::span<const std::int32_t>(batch.targets), sizes)};
  if (!full) result.text.lengths = Tensor::from(std::span<const std::int32_t>(batch.lengths), rows);
  if (!batch.segments.empty()) {
    result.text.token_type_ids = Tensor::from(std::span<const std::int32_t>(batch.segments), sizes);
    result.sentence_labels = Tensor::from(std::span<const std::int32_t>(batch.sentence_labels), rows);
  }
  return result;
}

Evaluation evaluate(const MaskedLanguageModel& model, const MaskedBatcher& rows, std::int64_t max_batches,
                    const ProgressCallback& progress, Communicator& ranks) {
  Evaluation total;
  std::int64_t right = 0, sentences = 0, right_sentences = 0;
  double sentence_nats = 0;
  MaskedBatch batch;
  for_own_batches(scored_batches(rows.batches(), max_batches), ranks, progress, [&](std::int64_t i) {
    rows.fill(i, batch);
    Tape tape(no_grad);
    const MaskedRows masked = masked_rows(tape, batch);
    const Variable features = model.features(masked.text);
    if (batch.masked > 0) right += score(model, scored_positions(features, masked.targets), total.nats);
    total.tokens += batch.masked;
    if (model.predicts_next_sentence()) {
      const Tensor log_p = log_softmax(model.next_sentence_logits(features)).value().to(DType::f64);
      for (std::int64_t row = 0; row < batch.rows; ++row) {
        const std::int32_t label = batch.sentence_labels[row];
        if (label == kIgnoredTarget) continue;
        const double* const both = log_p.data<double>() + 2 * row;
        sentence_nats -= both[label];
        right_sentences += both[label] > both[1 - label];
      }
      sentences += batch.sentences;
    }
  });
  add_over_ranks(total, ranks);
  right = ranks.sum_of(right);
  sentences = ranks.sum_of(sentences);
  right_sentences = ranks.sum_of(right_sentences);
  sentence_nats = ranks.sum(sentence_nats);
  if (total.tokens > 0) total.metrics.emplace_back("accuracy", share(right, total.tokens));
  if (sentences > 0) {
    total.metrics.emplace_back("next_sentence_loss", sentence_nats / static_cast<double>(sentences));
    total.metrics.emplace_back("next_sentence_accuracy", share(right_sentences, sentences));
  }
  return total;
}

Evaluation pseudo_likelihood(const MaskedLanguageModel& model, const MaskedBatcher& rows, std::int64_t batch,
                             const ProgressCallback& progress) {
  Evaluation total;
  MaskedBatch row, pending;  // pending: rows with one masked position each
  const auto flush = [&] {
    if (pending.rows == 0) return;
    Tape tape(no_grad);
    const MaskedRows masked = masked_rows(tape, pending);
    score(model, scored_positions(model.features(masked.text), masked.targets), total.nats);
    total.tokens += pending.rows;
    pending = {};
  };
  const auto append = [](std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::int64_t w = 0; w < rows.windows(); ++w) {
    rows.plain(w, row);
    for (std::int64_t position = 0; position < row.lengths[0]; ++position) {
      if (!rows.masker().can_mask(row.ids[position])) continue;
      pending.length = row.length;
      const std::int64_t at = pending.rows++ * row.length + position;
      append(pending.ids, row.ids), append(pending.targets, row.targets);
      append(pending.lengths, row.lengths);
      append(pending.segments, row.segments), append(pending.sentence_labels, row.sentence_labels);
      pending.targets[at] = std::exchange(pending.ids[at], rows.masker().mask_token());
      if (pending.rows == batch) flush();
    }
    if (progress) progress(share(w + 1, rows.windows()));
  }
  flush();
  check(total.tokens > 0, "pseudo-perplexity: the text has special tokens only");
  return total;
}

std::vector<FilledMask> fill_masks(const MaskedLanguageModel& model, std::span<const std::int32_t> ids,
                                   std::int32_t mask_token, std::int64_t top, std::span<const std::int32_t> except) {
  std::vector<std::int32_t> targets(ids.size(), kIgnoredTarget);
  std::vector<FilledMask> masks;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != mask_token) continue;
    targets[i] = mask_token;
    masks.push_back({static_cast<std::int64_t>(i), {}});
  }
  if (masks.empty()) return masks;
  const Dims sizes{1, std::ssize(ids)};
  Tape tape(no_grad);
  const Variable features =
      model.features({.input_ids = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), sizes))});
  const Variable masked =
      scored_positions(features, Tensor::from(std::span<const std::int32_t>(targets), sizes)).features;
  for_predictions(model, masked, [&](std::int64_t i, std::span<const double> log_p) {
    const bool finite = std::ranges::all_of(log_p, [](double value) { return std::isfinite(value); });
    check(finite, "the model's predictions are not finite numbers");
    std::vector<std::int32_t> order(log_p.size());
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](std::int32_t id) { return std::ranges::count(except, id) > 0; });
    const auto end = order.begin() + std::min<std::int64_t>(top, std::ssize(order));
    std::partial_sort(order.begin(), end, order.end(), [&](std::int32_t a, std::int32_t b) {
      return log_p[a] != log_p[b] ? log_p[a] > log_p[b] : a < b;
    });
    for (auto id = order.begin(); id != end; ++id) masks[i].candidates.push_back({*id, std::exp(log_p[*id])});
  });
  return masks;
}

}  // namespace tapeformer
