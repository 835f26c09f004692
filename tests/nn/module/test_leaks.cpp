// Nothing reaches a prediction that must not: no later token, and no padding.
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

// The rows [begin, end) of axis 1.
Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end) { return x.slice(1, begin, end).contiguous(); }

void check_causal(const GptConfig& config, std::int64_t batch, std::span<const std::int64_t> places) {
  const Gpt model(config);
  randomize(model);
  const Dims sizes{batch, config.context};
  std::vector<std::int32_t> ids = random_ids(sizes.product(), config.vocab, 5);
  const Tensor before = logits_of(model, ids_tensor(ids, sizes));
  for (std::int64_t place : places) {
    CAPTURE(place);
    std::vector<std::int32_t> changed = ids;
    std::int32_t& id = changed[(batch - 1) * config.context + place];
    id = static_cast<std::int32_t>((id + 1) % config.vocab);
    const Tensor after = logits_of(model, ids_tensor(changed, sizes));
    CHECK(same_bits(columns(after, 0, place), columns(before, 0, place)));
    // The other sequences of the batch do not change; this one does, at the place and behind it.
    CHECK(same_bits(after.slice(0, 0, batch - 1), before.slice(0, 0, batch - 1)));
    for (std::int64_t t = place; t < config.context; ++t) {
      CHECK_FALSE(same_bits(columns(after, t, t + 1), columns(before, t, t + 1)));
    }
  }
}

}  // namespace

TEST_CASE("gpt: a changed token changes no earlier logit and no other sequence, bit for bit") {
  for (const GptConfig& config : architectures()) {
    CAPTURE(name_of(config));
    const std::int64_t places[] = {0, 1, 5, 11};
    check_causal(config, 3, places);
  }
}

TEST_CASE("gpt: a changed token changes no earlier logit in sequences longer than attention's tiles, f64 and f32") {
  for (DType dtype : {DType::f64, DType::f32}) {
    GptConfig config = small_gpt(dtype);
    config.context = 200;
    const std::int64_t places[] = {31, 32, 63, 64, 65, 127, 128, 199};
    check_causal(config, 2, places);
  }
}

TEST_CASE("gpt: no gradient flows from a position's loss to a later position") {
  for (NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    GptConfig config = small_gpt();
    config.block.norm = norm;
    const Gpt model(config);
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(12, config.vocab, 6), {1, 12});
    for (std::int32_t scored : {0, 4, 11}) {
      std::vector<std::int32_t> targets(12, -1);
      targets[scored] = 3;
      model.zero_grad();
      add_gradients(model, ids, ids_tensor(targets, {1, 12}));
      const std::vector<double> rows = values_of(gradients_of(model).at("position_embedding.weight"));
      for (std::int64_t t = 0; t < 12; ++t) {
        CAPTURE(t);
        const auto row = std::span(rows).subspan(t * config.block.dim, config.block.dim);
        CHECK(std::ranges::any_of(row, [](double g) { return g != 0; }) == (t <= scored));
      }
    }
  }
}

TEST_CASE("gpt: padding behind a sequence changes neither loss nor gradients, whatever its ids") {
  const std::int64_t lengths[] = {12, 7, 1};
  for (const GptConfig& config : architectures()) {
    CAPTURE(name_of(config));
    const Gpt model(config);
    randomize(model);
    const std::vector<std::int32_t> ids = random_ids(36, config.vocab, 7), targets = random_ids(36, config.vocab, 8);

    // Each sequence at its own length, by itself.
    model.zero_grad();
    double alone = 0;
    for (int row = 0; row < 3; ++row) {
      const Dims sizes{1, lengths[row]};
      alone += add_gradients(model, ids_tensor(std::span(ids).subspan(12 * row, lengths[row]), sizes),
                             ids_tensor(std::span(targets).subspan(12 * row, lengths[row]), sizes), {.normalizer = 20});
    }
    const Gradients expected = gradients_of(model);

    for (std::uint64_t fill : {20, 21}) {
      std::vector<std::int32_t> padded = ids, scored = targets;
      const std::vector<std::int32_t> padding = random_ids(36, config.vocab, fill);
      for (int row = 0; row < 3; ++row) {
        for (std::int64_t t = lengths[row]; t < 12; ++t) padded[12 * row + t] = padding[12 * row + t];
        for (std::int64_t t = lengths[row]; t < 12; ++t) scored[12 * row + t] = -1;
      }
      // The default normalizer is the number of scored targets: 12 + 7 + 1.
      for (double normalizer : {20.0, 0.0}) {
        model.zero_grad();
        const double loss =
            add_gradients(model, ids_tensor(padded, {3, 12}), ids_tensor(scored, {3, 12}), {.normalizer = normalizer});
        CHECK(loss == doctest::Approx(alone).epsilon(1e-14));
        CHECK(distance(gradients_of(model), expected) < 1e-13);
      }
    }
  }
}

TEST_CASE("gpt: whole sequences of padding change neither loss nor gradients") {
  const GptConfig config = small_gpt();
  const Gpt model(config);
  randomize(model);
  const std::vector<std::int32_t> ids = random_ids(48, config.vocab, 9);
  std::vector<std::int32_t> targets = random_ids(48, config.vocab, 10);
  const double alone = add_gradients(model, ids_tensor(std::span(ids).first(24), {2, 12}),
                                     ids_tensor(std::span(targets).first(24), {2, 12}), {.smoothing = 0.1});
  const Gradients expected = gradients_of(model);
  std::fill(targets.begin() + 24, targets.end(), -1);
  model.zero_grad();
  const double loss = add_gradients(model, ids_tensor(ids, {4, 12}), ids_tensor(targets, {4, 12}), {.smoothing = 0.1});
  CHECK(loss == doctest::Approx(alone).epsilon(1e-14));
  CHECK(distance(gradients_of(model), expected) < 1e-13);
}

TEST_CASE("gpt: a batch without any target gives zero loss and zero gradients under the step's normalizer") {
  const GptConfig config = small_gpt();
  const Gpt model(config);
  randomize(model);
  const std::vector<std::int32_t> none(24, -1);
  CHECK(add_gradients(model, ids_tensor(random_ids(24, config.vocab, 9), {2, 12}), ids_tensor(none, {2, 12}),
                      {.normalizer = 100}) == 0);
  for (const auto& entry : gradients_of(model)) {
    CAPTURE(entry.first);
    CHECK(std::ranges::all_of(values_of(entry.second), [](double value) { return value == 0; }));
  }
}
