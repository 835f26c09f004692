// Recurrent language models: their state, their initial values, and what they refuse.
#include "nn/models/rnn.h"

#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

constexpr CellKind kRnnCells[] = {CellKind::lstm, CellKind::gru, CellKind::tanh};

RnnConfig small_rnn(CellKind cell, DType dtype = DType::f64) {
  return {.vocab = 17, .stack = {.cell = cell, .layers = 2, .input_dim = 6, .dim = 9, .dtype = dtype}};
}

Tensor logits_of(const Rnn& model, const Tensor& ids, Cache* cache) {
  Tape tape(no_grad);
  return model.logits(model.forward(Variable::constant(tape, ids), cache)).value();
}

}  // namespace

TEST_CASE("rnn: with a cache, pieces of any lengths give the logits of the whole text") {
  for (const CellKind cell : kRnnCells) {
    const Rnn model(small_rnn(cell));
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(36, 17, 1), {3, 12});
    const Tensor expected = logits_of(model, ids, nullptr);
    const std::unique_ptr<Cache> cache = model.make_cache();
    for (int round = 0; round < 2; ++round, cache->clear()) {
      std::int64_t begin = 0;
      for (const std::int64_t length : {5, 1, 1, 4, 1}) {
        const Tensor piece = ids.slice(1, begin, begin + length);
        CHECK(distance(logits_of(model, piece, cache.get()), expected.slice(1, begin, begin + length)) < 1e-13);
        begin += length;
      }
    }
  }
}

TEST_CASE("rnn: rows in order have the loss of the long row that they are parts of") {
  for (const CellKind cell : kRnnCells) {
    const Rnn model(small_rnn(cell));
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
    RecurrentState state;
    double sum = 0;
    for (const std::int64_t begin : {0, 7}) {
      const std::int64_t end = begin == 0 ? 7 : 12;
      Tape tape;
      const auto part = [&](const Tensor& whole) { return Variable::constant(tape, whole.slice(1, begin, end)); };
      const Variable loss = model.loss(part(ids), part(targets), {.normalizer = 24}, state);
      sum += loss.value().item();
      tape.backward(loss);  // the gradient ends where the row begins
    }
    CHECK(sum == doctest::Approx(add_gradients(model, ids, targets)).epsilon(1e-13));
    CHECK(state.tensors().size() == (cell == CellKind::lstm ? 4 : 2));
    for (const auto& [name, tensor] : state.tensors()) CHECK(tensor.sizes() == Dims{2, 9});
  }
}

TEST_CASE("rnn: the parameters are those of PyTorch's layers, and the head may be the embedding") {
  const std::int64_t layer = 4 * (6 * 9 + 9 * 9 + 2 * 9), second = 4 * (9 * 9 + 9 * 9 + 2 * 9);
  CHECK(Rnn(small_rnn(CellKind::lstm)).parameter_count() == 17 * 6 + layer + second + 17 * 9 + 17);
  CHECK(Rnn(small_rnn(CellKind::gru)).parameter_count("layers.") == (layer + second) * 3 / 4);
  CHECK(Rnn(small_rnn(CellKind::tanh)).parameter_count("layers.1.") == second / 4);
  RnnConfig tied = small_rnn(CellKind::lstm);
  tied.tie_embeddings = true;
  CHECK_THROWS_WITH_AS(
      Rnn{tied}, "LM head: the embedding is 6 wide, the states 9: expected the same, since the head is tied", Error);
  tied.stack.input_dim = 9;
  CHECK(Rnn(tied).parameter_count("head.") == 17);
}

TEST_CASE("rnn: weights begin uniform in one over the root of the width, and forget gates open") {
  RnnConfig config = small_rnn(CellKind::lstm);
  config.stack.dim = 100;
  config.stack.forget_bias = 3;
  const Rnn model(config);
  model.initialize_parameters(1);
  const auto state = model.state_dict();
  const auto bounds = [&](const std::string& name, std::int64_t begin, std::int64_t end) {
    const std::vector<double> values = values_of(state.at(name).slice(0, begin, end));
    const auto [low, high] = std::ranges::minmax(values);
    return std::pair(low, high);
  };
  const auto check_within = [](std::pair<double, double> bounds, double center) {
    CHECK(bounds.first >= center - 0.1);
    CHECK(bounds.first < center - 0.09);
    CHECK(bounds.second <= center + 0.1);
    CHECK(bounds.second > center + 0.09);
  };
  check_within(bounds("layers.0.weight_ih", 0, 400), 0);
  check_within(bounds("layers.1.weight_hh", 0, 400), 0);
  check_within(bounds("layers.0.bias_ih", 0, 100), 0);
  check_within(bounds("layers.0.bias_ih", 100, 200), 3);
  check_within(bounds("layers.0.bias_ih", 200, 400), 0);
  check_within(bounds("layers.0.bias_hh", 0, 400), 0);
  check_within(bounds("head.weight", 0, 17), 0);
  double squares = 0;
  for (const double value : values_of(state.at("token_embedding.weight"))) squares += value * value;
  CHECK(squares / (17 * 6) == doctest::Approx(1).epsilon(0.3));
}

TEST_CASE("rnn: dropout is the same for the same step, different for the next, and off in evaluation") {
  RnnConfig config = small_rnn(CellKind::gru);
  config.stack.dropout = 0.5;
  const Rnn dropping(config), plain(small_rnn(CellKind::gru));
  randomize(dropping), randomize(plain);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
  const auto loss = [&](std::uint32_t step) {
    return add_gradients(dropping, ids, targets, {}, {.training = true, .random = {.step = step}});
  };
  CHECK(loss(1) == loss(1));
  CHECK(loss(1) != loss(2));
  CHECK(add_gradients(dropping, ids, targets) == add_gradients(plain, ids, targets));
}

TEST_CASE("rnn: a state of another batch, stack or model is refused") {
  const Rnn model(small_rnn(CellKind::lstm));
  randomize(model);
  const std::unique_ptr<Cache> cache = model.make_cache();
  logits_of(model, ids_tensor(random_ids(2, 17, 1), {2, 1}), cache.get());
  CHECK_THROWS_WITH_AS(logits_of(model, ids_tensor(random_ids(3, 17, 1), {3, 1}), cache.get()),
                       "recurrent: h0 is (2, 9): expected (3, 9)", Error);
  RecurrentState shallow;
  shallow.layers.resize(1);
  CHECK_THROWS_WITH_AS(logits_of(model, ids_tensor(random_ids(2, 17, 1), {2, 1}), &shallow),
                       "recurrent stack: the state is of 1 layers, expected 2", Error);
  const Gpt gpt(small_gpt());
  CHECK_THROWS_WITH_AS(logits_of(model, ids_tensor(random_ids(2, 17, 1), {2, 1}), gpt.make_cache().get()),
                       "rnn: the cache is another model's", Error);
}
