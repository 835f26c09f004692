#include "core/parallel.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

GptConfig dropping_gpt(double p = 0.3) {
  GptConfig config = small_gpt();
  config.block.dropout = config.block.attention_dropout = p;
  return config;
}

TapeOptions training(const RandomKey& key) { return {.training = true, .random = key}; }

Tensor dropped(const Tensor& x, double p, const TapeOptions& options) {
  Tape tape(options);
  return Dropout(p).forward(Variable::constant(tape, x)).value();
}

}  // namespace

TEST_CASE("dropout: zeroes a share p and keeps the mean, element by element") {
  const Tensor x = Tensor::from({0.5, -1.0, 2.0, 3.0}, {4}).expand({250, 4}).contiguous();
  for (double p : {0.1, 0.5, 0.9}) {
    std::vector<double> sums(1000, 0.0);
    std::int64_t zeros = 0, wrong = 0;
    const std::uint32_t steps = 400;
    const std::vector<double> in = values_of(x);
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::vector<double> out = values_of(dropped(x, p, training({.seed = 3, .step = step})));
      for (std::size_t i = 0; i < out.size(); ++i) {
        wrong += out[i] != 0 && std::abs(out[i] * (1 - p) - in[i]) > 1e-14;
        zeros += out[i] == 0;
        sums[i] += out[i];
      }
    }
    CHECK(wrong == 0);
    const double n = 1000.0 * steps;
    CHECK(std::abs(static_cast<double>(zeros) / n - p) < 5 * std::sqrt(p * (1 - p) / n));
    // Each element's mean over the steps within five standard errors; 1000 elements, so the worst lies near 3.3.
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double error = std::abs(in[i]) * std::sqrt(p / (1 - p) / steps);
      CHECK(std::abs(sums[i] / steps - in[i]) < 5 * error);
    }
  }
}

TEST_CASE("dropout: off in evaluation and at p = 0, where x itself comes back") {
  const Tensor x = Tensor::full({100}, DType::f64, 2);
  CHECK(dropped(x, 0.5, no_grad).shares_storage_with(x));
  CHECK(dropped(x, 0.5, {}).shares_storage_with(x));
  CHECK(dropped(x, 0.0, training({})).shares_storage_with(x));
  CHECK_THROWS_WITH_AS(dropped(x, 1.0, training({})), "dropout: expected 0 <= p < 1, got 1", Error);
}

TEST_CASE("gpt: dropout is off in evaluation") {
  const Gpt dropping(dropping_gpt()), plain(small_gpt());
  randomize(dropping), randomize(plain);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12});
  const Tensor expected = logits_of(plain, ids);
  CHECK(same_bits(logits_of(dropping, ids), expected));
  CHECK(same_bits(logits_of(dropping, ids, {.record = true}), expected));
  CHECK_FALSE(same_bits(logits_of(dropping, ids, training({})), expected));
}

TEST_CASE("gpt: dropout follows seed, step and micro-step alone, for any number of threads") {
  GptConfig config = dropping_gpt();
  config.context = 70;
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(8 * 70, 17, 1), {8, 70}),
               targets = ids_tensor(random_ids(560, 17, 2), {8, 70});
  const auto run = [&](const RandomKey& key) {
    model.zero_grad();
    const double loss = add_gradients(model, ids, targets, {}, training(key));
    return std::pair{loss, gradients_of(model)};
  };
  const RandomKey key{.seed = 7, .step = 5, .micro_step = 2};
  const auto [loss, gradients] = run(key);
  for (const RandomKey& other : {RandomKey{8, 5, 2}, RandomKey{7, 6, 2}, RandomKey{7, 5, 3}}) {
    const auto [other_loss, other_gradients] = run(other);
    CHECK(other_loss != loss);
    CHECK_FALSE(same_bits(other_gradients, gradients));
  }
  const int before = thread_count();
  for (int threads : {1, 3}) {
    set_thread_count(threads);
    const auto [again, same] = run(key);
    // The matrix products may round otherwise with other threads; another mask would differ by far more.
    CHECK(again == doctest::Approx(loss).epsilon(1e-13));
    CHECK(distance(same, gradients) < 1e-12);
  }
  set_thread_count(before);
  const auto [again, same] = run(key);
  CHECK(again == loss);
  CHECK(same_bits(same, gradients));
}

TEST_CASE("gpt: dropout stands after the embeddings, on attention weights and on each sublayer's output") {
  for (std::int64_t layers : {1, 3}) {
    GptConfig config = dropping_gpt();
    config.layers = layers;
    const Gpt model(config);
    randomize(model);
    Tape tape(training({}));
    model.forward(Variable::constant(tape, Tensor::zeros({1, 12}, DType::i32)));
    CHECK(tape.next_random_key().stream == static_cast<std::uint64_t>(1 + 3 * layers));
  }
}

TEST_CASE("transformer: dropout stands in the same places of both stacks, and is off in evaluation") {
  for (std::int64_t layers : {1, 3}) {
    TransformerConfig config = small_transformer();
    config.layers = layers;
    const Transformer plain(config);
    config.block.dropout = config.block.attention_dropout = 0.3;
    const Transformer dropping(config);
    randomize(plain), randomize(dropping);
    const PairBatch batch = full_batch(config, 2, 7, 5);
    const double expected = add_gradients(plain, batch);
    CHECK(add_gradients(dropping, batch) == expected);
    CHECK(add_gradients(dropping, batch, {}, training({})) != expected);
    Tape tape(training({}));
    dropping.decode(Variable::constant(tape, batch.inputs), dropping.encode(tape, batch.source));
    CHECK(tape.next_random_key().stream == static_cast<std::uint64_t>(1 + 3 * layers + 1 + 5 * layers));
  }
}

TEST_CASE("gpt: with dropout, gradients are those of the loss with this step's mask") {
  // Finite differences along a random direction of all parameters at once.
  for (NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    GptConfig config = dropping_gpt();
    config.block.norm = norm;
    const Gpt model(config);
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
    const TapeOptions options = training({.seed = 1, .step = 2});
    add_gradients(model, ids, targets, {}, options);

    double slope = 0;
    std::uint64_t stream = 100;
    std::vector<std::pair<Tensor, std::vector<double>>> moves;
    for (const NamedParameter& parameter : model.named_parameters()) {
      const Tensor direction = Tensor::empty(parameter.variable.sizes(), DType::f64);
      initialize(direction, Init::normal(1), {.stream = stream++});
      moves.emplace_back(parameter.variable.value(), values_of(direction));
      const std::vector<double> gradient = values_of(parameter.variable.grad());
      for (std::size_t i = 0; i < gradient.size(); ++i) slope += gradient[i] * moves.back().second[i];
    }
    const auto loss_after_move = [&](double length) {
      for (const auto& [value, direction] : moves) {
        for (std::size_t i = 0; i < direction.size(); ++i) value.data<double>()[i] += length * direction[i];
      }
      Tape tape({.record = false, .training = true, .random = options.random});
      return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {}).value().item();
    };
    const double eps = 1e-6;
    const double up = loss_after_move(eps), down = loss_after_move(-2 * eps);
    CHECK((up - down) / (2 * eps) == doctest::Approx(slope).epsilon(1e-6));
  }
}
