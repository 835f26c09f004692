// The encoder-decoder: who sees whom, what padding may not do, and its gradients by finite differences.
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kSourceLengths[] = {9, 4, 1, 6}, kTargetLengths[] = {3, 8, 5, 1};  // 17 targets

// A copy whose id at (row, place) is another.
Tensor with_changed_id(const Tensor& ids, std::int64_t row, std::int64_t place, std::int64_t vocab) {
  const Tensor copy = ids.clone();
  std::int32_t& id = copy.slice(0, row, row + 1).slice(1, place, place + 1).data<std::int32_t>()[0];
  id = static_cast<std::int32_t>((id + 1) % vocab);
  return copy;
}

// x (B, T, n): the positions [begin, end) of one row.
Tensor part(const Tensor& x, std::int64_t row, std::int64_t begin, std::int64_t end) {
  return x.slice(0, row, row + 1).slice(1, begin, end).contiguous();
}

Tensor encoding(const Transformer& model, const SourceBatch& source) {
  Tape tape(no_grad);
  return model.encode(tape, source).hidden.value();
}

// Whether the rows other than `row` of x (B, T, n) have kept their bits.
bool others_kept(const Tensor& after, const Tensor& before, std::int64_t row) {
  const std::int64_t rows = before.size(0), length = before.size(1);
  for (std::int64_t other = 0; other < rows; ++other) {
    if (other != row && !same_bits(part(after, other, 0, length), part(before, other, 0, length))) return false;
  }
  return true;
}

bool all_changed(const Tensor& after, const Tensor& before, std::int64_t row, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    if (same_bits(part(after, row, t, t + 1), part(before, row, t, t + 1))) return false;
  }
  return true;
}

void check_target_mask(const Transformer& model, const PairBatch& batch, std::span<const std::int64_t> places) {
  const std::int64_t row = batch.inputs.size(0) - 1, length = batch.inputs.size(1);
  const Tensor before = logits_of(model, batch.source, batch.inputs);
  for (std::int64_t place : places) {
    CAPTURE(place);
    const Tensor inputs = with_changed_id(batch.inputs, row, place, model.config().target_vocab);
    const Tensor after = logits_of(model, batch.source, inputs);
    CHECK(others_kept(after, before, row));
    CHECK(same_bits(part(after, row, 0, place), part(before, row, 0, place)));
    CHECK(all_changed(after, before, row, place, length));
  }
}

void check_source_mask(const Transformer& model, const PairBatch& batch, std::span<const std::int64_t> places) {
  const Tensor logits_before = logits_of(model, batch.source, batch.inputs);
  const Tensor encoding_before = encoding(model, batch.source);
  const std::vector<std::int32_t> lengths = batch.source.lengths.to_vector<std::int32_t>();
  for (std::int64_t row = 0; row < std::ssize(lengths); ++row) {
    for (std::int64_t place : places) {
      CAPTURE(row);
      CAPTURE(place);
      const SourceBatch source{with_changed_id(batch.source.ids, row, place, model.config().source_vocab),
                               batch.source.lengths};
      const Tensor logits = logits_of(model, source, batch.inputs), encoded = encoding(model, source);
      const std::int64_t length = lengths[row];
      CHECK(others_kept(logits, logits_before, row));
      CHECK(others_kept(encoded, encoding_before, row));
      if (place < length) {  // seen from everywhere, from before it too
        CHECK(all_changed(encoded, encoding_before, row, 0, length));
        CHECK(all_changed(logits, logits_before, row, 0, batch.inputs.size(1)));
      } else {
        CHECK(same_bits(part(encoded, row, 0, length), part(encoding_before, row, 0, length)));
        CHECK(same_bits(logits, logits_before));
      }
    }
  }
}

// Loss and gradients of a batch, from zero.
std::pair<double, Gradients> step(const Transformer& model, const PairBatch& batch, double normalizer = 0) {
  model.zero_grad();
  const double loss = add_gradients(model, batch, {.smoothing = 0.1, .normalizer = normalizer});
  return {loss, gradients_of(model)};
}

double loss_of(const Transformer& model, const PairBatch& batch) {
  Tape tape(no_grad);
  return model
      .loss(batch.source, Variable::constant(tape, batch.inputs), Variable::constant(tape, batch.targets),
            {.smoothing = 0.1})
      .value()
      .item();
}

}  // namespace

TEST_CASE("transformer: a target's token reaches its own place and the later ones, a source's all, padding none") {
  for (const TransformerConfig& config : transformer_architectures()) {
    CAPTURE(name_of(config));
    const Transformer model(config);
    randomize(model);
    const auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
    const PairBatch batch = batch_of(config, pairs, 9, 8);
    const std::int64_t places[] = {0, 1, 3, 4, 6, 7};
    check_target_mask(model, batch, places);
    check_source_mask(model, batch, places);
  }
}

TEST_CASE("transformer: the same in sentences longer than attention's tiles, f64 and f32") {
  for (DType dtype : {DType::f64, DType::f32}) {
    TransformerConfig config = small_transformer(dtype);
    config.context = 200;
    const Transformer model(config);
    randomize(model);
    const std::int64_t source_lengths[] = {200, 65, 128}, target_lengths[] = {150, 20, 150};
    const auto pairs = random_pairs(config, source_lengths, target_lengths);
    const PairBatch batch = batch_of(config, pairs, 200, 150);
    const std::int64_t places[] = {0, 31, 32, 63, 64, 65, 127, 128, 149};
    check_target_mask(model, batch, places);
    check_source_mask(model, batch, places);
  }
}

TEST_CASE("transformer: a batch's logits are those of its sentences alone") {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    for (const TransformerConfig& config : transformer_architectures(dtype)) {
      CAPTURE(name_of(config));
      const Transformer model(config);
      randomize(model);
      const auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
      const PairBatch batch = batch_of(config, pairs, 12, 11);
      const Tensor together = logits_of(model, batch.source, batch.inputs);
      for (std::int64_t row = 0; row < std::ssize(pairs); ++row) {
        const std::int64_t length = kTargetLengths[row];
        const PairBatch alone = batch_of(config, std::span(pairs).subspan(row, 1), kSourceLengths[row], length);
        CHECK(distance(part(together, row, 0, length), logits_of(model, alone.source, alone.inputs)) < tolerance);
      }
    }
  }
}

TEST_CASE("transformer: a batch's loss and gradients are those of its sentences alone, by their share of the targets") {
  for (const TransformerConfig& config : transformer_architectures()) {
    CAPTURE(name_of(config));
    const Transformer model(config);
    randomize(model);
    const auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
    model.zero_grad();
    double expected_loss = 0;
    for (std::size_t row = 0; row < pairs.size(); ++row) {
      const PairBatch alone =
          batch_of(config, std::span(pairs).subspan(row, 1), kSourceLengths[row], kTargetLengths[row]);
      expected_loss += add_gradients(model, alone, {.smoothing = 0.1, .normalizer = 17});
    }
    const Gradients expected = gradients_of(model);
    CHECK(expected.size() == model.named_parameters().size());

    for (const auto& [source_size, target_size] : {std::pair{9, 8}, {12, 12}}) {
      const PairBatch batch = batch_of(config, pairs, source_size, target_size, 1);
      const auto [loss, gradients] = step(model, batch);  // divided by the number of targets: 17
      CHECK(loss == doctest::Approx(expected_loss).epsilon(1e-13));
      CHECK(distance(gradients, expected) < 1e-12);
      CHECK(step(model, batch, 17).first == loss);

      const PairBatch refilled = batch_of(config, pairs, source_size, target_size, 50);
      REQUIRE_FALSE(same_bits(refilled.source.ids, batch.source.ids));
      const auto again = step(model, refilled);
      CHECK(again.first == loss);
      CHECK(same_bits(again.second, gradients));
    }
  }
}

TEST_CASE("transformer: a row without source and targets changes neither loss nor gradients") {
  for (const TransformerConfig& config : transformer_architectures()) {
    CAPTURE(name_of(config));
    const Transformer model(config);
    randomize(model);
    auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
    const auto expected = step(model, batch_of(config, pairs, 9, 8));
    pairs.insert(pairs.begin() + 1, SentencePair());
    const auto got = step(model, batch_of(config, pairs, 9, 8));
    CHECK(got.first == doctest::Approx(expected.first).epsilon(1e-13));
    CHECK(distance(got.second, expected.second) < 1e-12);
  }
}

TEST_CASE("transformer: gradients match finite differences") {
  for (const TransformerConfig& config : transformer_architectures()) {
    CAPTURE(name_of(config));
    const Transformer model(config);
    randomize(model);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const Gradients gradients = step(model, batch).second;
    check_gradients(model, gradients, [&] { return loss_of(model, batch); });
  }
}
