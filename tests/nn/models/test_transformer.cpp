// The encoder-decoder Transformer: who sees whom, and what padding may not do.
#include "tests/long_test.h"
#include "tests/nn/encoder_decoders.h"

using namespace tapeformer;

namespace {

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

}  // namespace

TEST_CASE("transformer: a target's token reaches its own place and the later ones, a source's all, padding none" *
          long_test()) {
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

TEST_CASE("transformer: the same in sentences longer than attention's tiles, f64 and f32" * long_test()) {
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
