// What a masked language model predicts: the chosen tokens, each token by itself, and the masks of a text.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "core/ignored_target.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tests/train/toy.h"
#include "tokenizer/masked_symbols.h"

using namespace tapeformer;

namespace {

// Σ −ln P of the targets of a row alone.
double nats_of_row(const MaskedLanguageModel& model, const MaskedBatch& batch, std::int64_t row) {
  const auto part = [&](const std::vector<std::int32_t>& values) {
    return Tensor::from(std::span(values).subspan(row * batch.length, batch.lengths[row]), {1, batch.lengths[row]});
  };
  Tape tape(no_grad);
  Batch text{.input_ids = Variable::constant(tape, part(batch.ids))};
  if (!batch.segments.empty()) text.token_type_ids = part(batch.segments);
  const TokenPrediction chosen = scored_positions(model.features(text), part(batch.targets));
  return chosen.targets.numel() ? model.loss(chosen.features, chosen.targets, {.normalizer = 1}).value().item() : 0;
}

}  // namespace

TEST_CASE("masked evaluation: each chosen token of the fixed masks is scored once, in batches of any size") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    MaskedToy toy(bert_config(pairs));
    toy.steps(1, 5);
    const auto rows_of = [&](std::int64_t batch) {
      return MaskedBatcher(toy.data.valid->view(), *toy.data.tokenizer, masked_row_options(toy.resolved, batch));
    };
    const MaskedBatcher single = rows_of(1);
    double nats = 0;
    std::int64_t chosen = 0;
    MaskedBatch batch;
    for (std::int64_t i = 0; i < single.batches(); ++i) {
      single.fill(i, batch);
      nats += nats_of_row(toy.model, batch, 0);
      chosen += batch.masked;
    }
    for (const std::int64_t size : {1, 3, 64}) {
      const Evaluation result = evaluate(toy.model, rows_of(size), 0);
      CHECK(result.tokens == chosen);
      CHECK(result.nats == doctest::Approx(nats).epsilon(1e-5));
    }
    Config other = bert_config(pairs);
    other.train.seed = 9;  // the masks of an evaluation are the same
    CHECK(evaluate(toy.model,
                   MaskedBatcher(toy.data.valid->view(), *toy.data.tokenizer, masked_row_options(resolve(other), 4)), 0)
              .nats == evaluate(toy.model, rows_of(4), 0).nats);
    const Evaluation whole = toy.objective.evaluate({});
    CHECK(whole.nats == evaluate(toy.model, rows_of(4), 0).nats);
    CHECK(evaluate(toy.model, rows_of(4), 1).tokens < whole.tokens);
    CHECK(whole.metrics.size() == (pairs ? 3 : 1));
    if (pairs) {
      CHECK(whole.metrics[1].first == "next_sentence_loss");
      CHECK(whole.metrics[1].second == doctest::Approx(std::log(2)).epsilon(0.1));
      CHECK(whole.metrics[2].first == "next_sentence_accuracy");
    }
  }
}

TEST_CASE("masked evaluation: the pseudo-likelihood masks each token by itself, in batches of any size") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    MaskedToy toy(bert_config(pairs));
    toy.steps(1, 5);
    const TokenView text = toy.data.valid->view();
    std::vector<std::int32_t> ids(40);
    text.copy(0, ids);
    const std::span<const std::int32_t> part = ids;
    const MaskedBatcher rows(part, *toy.data.tokenizer, masked_row_options(toy.resolved, 1));
    double nats = 0;
    std::int64_t tokens = 0;
    MaskedBatch row;
    for (std::int64_t w = 0; w < rows.windows(); ++w) {
      for (std::int64_t place = 0; place < 18; ++place) {
        rows.plain(w, row);
        if (toy.data.tokenizer->is_special(row.ids[place])) continue;
        row.targets[place] = std::exchange(row.ids[place], masked_symbols(*toy.data.tokenizer).mask);
        nats += nats_of_row(toy.model, row, 0);
        ++tokens;
      }
    }
    CHECK(tokens == 40);
    for (const std::int64_t batch : {1, 7, 100}) {
      const Evaluation result = pseudo_likelihood(toy.model, rows, batch);
      CHECK(result.tokens == 40);
      CHECK(result.nats == doctest::Approx(nats).epsilon(1e-5));
    }
  }
}

TEST_CASE("fill: the likeliest tokens of every mask, all masks read at once, and none without a mask") {
  const CacheFolder folder;
  MaskedToy toy(bert_config());
  toy.steps(1, 5);
  const std::int32_t mask = masked_symbols(*toy.data.tokenizer).mask;
  const std::vector<std::int32_t> ids{1, mask, 5, 7, mask, 2};
  const std::vector<FilledMask> masks = fill_masks(toy.model, ids, mask, toy.model.vocab() + 9);
  REQUIRE(masks.size() == 2);
  CHECK(masks[0].position == 1);
  CHECK(masks[1].position == 4);
  for (const FilledMask& filled : masks) {
    REQUIRE(std::ssize(filled.candidates) == toy.model.vocab());
    double sum = 0, before = 1;
    for (const auto& candidate : filled.candidates) {
      CHECK(candidate.probability <= before);
      sum += before = candidate.probability;
      MaskedBatch row;
      row.rows = 1, row.length = 6, row.ids = ids, row.lengths = {6};
      row.targets.assign(6, kIgnoredTarget);
      row.targets[filled.position] = candidate.id;
      CHECK(std::exp(-nats_of_row(toy.model, row, 0)) == doctest::Approx(candidate.probability).epsilon(1e-4));
    }
    CHECK(sum == doctest::Approx(1));
  }
  CHECK(fill_masks(toy.model, ids, mask, 3)[0].candidates.size() == 3);
  CHECK(fill_masks(toy.model, std::vector<std::int32_t>{1, 2}, mask, 3).empty());
  toy.model.named_parameters().front().variable.value().fill(NAN);
  CHECK_THROWS_WITH_AS(fill_masks(toy.model, ids, mask, 3), "the model's predictions are not finite numbers", Error);
}
