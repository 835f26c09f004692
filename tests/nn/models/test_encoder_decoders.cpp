// What encoder-decoders of both families have in common: their loss and gradients, whatever the batch.
#include "tests/long_test.h"
#include "tests/nn/encoder_decoders.h"

using namespace tapeformer;

namespace {

// Loss and gradients of a batch, from zero.
std::pair<double, Gradients> step(const EncoderDecoder& model, const PairBatch& batch, double normalizer = 0) {
  model.zero_grad();
  const double loss = add_gradients(model, batch, {.smoothing = 0.1, .normalizer = normalizer});
  return {loss, gradients_of(model)};
}

double loss_of(const EncoderDecoder& model, const PairBatch& batch) {
  Tape tape(no_grad);
  return model
      .loss(batch.source, Variable::constant(tape, batch.inputs), Variable::constant(tape, batch.targets),
            {.smoothing = 0.1})
      .value()
      .item();
}

}  // namespace

TEST_CASE(
    "encoder-decoder: a batch's loss and gradients are those of its sentences alone, by their share of the targets") {
  for_each_encoder_decoder([](const auto& model) {
    const auto pairs = random_pairs(model.config(), kSourceLengths, kTargetLengths);
    model.zero_grad();
    double expected_loss = 0;
    for (std::size_t row = 0; row < pairs.size(); ++row) {
      const PairBatch alone =
          batch_of(model.config(), std::span(pairs).subspan(row, 1), kSourceLengths[row], kTargetLengths[row]);
      expected_loss += add_gradients(model, alone, {.smoothing = 0.1, .normalizer = 17});
    }
    const Gradients expected = gradients_of(model);
    CHECK(expected.size() == model.named_parameters().size());

    for (const auto& [source_size, target_size] : {std::pair{9, 8}, {12, 12}}) {
      const PairBatch batch = batch_of(model.config(), pairs, source_size, target_size, 1);
      const auto [loss, gradients] = step(model, batch);  // divided by the number of targets: 17
      CHECK(loss == doctest::Approx(expected_loss).epsilon(1e-13));
      CHECK(distance(gradients, expected) < 1e-12);
      CHECK(step(model, batch, 17).first == loss);

      const PairBatch refilled = batch_of(model.config(), pairs, source_size, target_size, 50);
      REQUIRE_FALSE(same_bits(refilled.source.ids, batch.source.ids));
      const auto again = step(model, refilled);
      CHECK(again.first == loss);
      CHECK(same_bits(again.second, gradients));
    }
  });
}

TEST_CASE("encoder-decoder: two micro-steps give the loss and gradients of one step with both halves") {
  for_each_encoder_decoder([](const auto& model) {
    const auto pairs = random_pairs(model.config(), kSourceLengths, kTargetLengths);
    const auto whole = step(model, batch_of(model.config(), pairs, 9, 8));
    model.zero_grad();
    double sum = 0;
    for (const std::size_t begin : {0, 2}) {
      sum += add_gradients(model, batch_of(model.config(), std::span(pairs).subspan(begin, 2), 9, 8),
                           {.smoothing = 0.1, .normalizer = 17});
    }
    CHECK(sum == doctest::Approx(whole.first).epsilon(1e-13));
    CHECK(distance(gradients_of(model), whole.second) < 1e-12);
  });
}

TEST_CASE("encoder-decoder: a row without source and targets changes neither loss nor gradients") {
  for_each_encoder_decoder([](const auto& model) {
    auto pairs = random_pairs(model.config(), kSourceLengths, kTargetLengths);
    const auto expected = step(model, batch_of(model.config(), pairs, 9, 8));
    pairs.insert(pairs.begin() + 1, SentencePair());
    const auto got = step(model, batch_of(model.config(), pairs, 9, 8));
    CHECK(got.first == doctest::Approx(expected.first).epsilon(1e-13));
    CHECK(distance(got.second, expected.second) < 1e-12);
  });
}

TEST_CASE("encoder-decoder: gradients match finite differences" * long_test()) {
  for_each_encoder_decoder([](const auto& model) {
    const PairBatch batch =
        batch_of(model.config(), random_pairs(model.config(), kSourceLengths, kTargetLengths), 9, 8);
    const Gradients gradients = step(model, batch).second;
    constexpr bool kRecurrent = std::is_same_v<std::decay_t<decltype(model)>, RnnSeq2Seq>;
    const double least = kRecurrent ? 1e-5 : 1e-4;  // those of additive attention are small
    check_gradients(
        model, gradients, [&] { return loss_of(model, batch); }, least);
  });
}
