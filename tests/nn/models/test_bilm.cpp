// Bidirectional language models: what each direction reads and predicts, and the vectors of their layers.
#include "tests/long_test.h"
#include "tests/nn/heads_support.h"

using namespace tapeformer;

namespace {

constexpr CellKind kCells[] = {CellKind::lstm, CellKind::gru, CellKind::tanh};

BilmConfig small_bilm(CellKind cell, DType dtype = DType::f64) {
  return {.vocab = 17, .stack = {.cell = cell, .layers = 2, .input_dim = 6, .dim = 9, .dtype = dtype}};
}

// The width of the embedding and of the states are one, so that each could be the other.
BilmConfig square_bilm(CellKind cell, DType dtype = DType::f64) {
  BilmConfig config = small_bilm(cell, dtype);
  config.stack.input_dim = 9;
  return config;
}

Tensor lengths_tensor(const std::vector<std::int32_t>& lengths) {
  return Tensor::from(std::span<const std::int32_t>(lengths), {std::ssize(lengths)});
}

std::vector<Tensor> layers_of(const Model& model, const Tensor& ids, const Tensor& lengths = {}) {
  Tape tape(no_grad);
  std::vector<Tensor> layers;
  for (const Variable& layer : model.hidden_states({Variable::constant(tape, ids), lengths})) {
    layers.push_back(layer.value());
  }
  return layers;
}

// The places [begin, end) of axis 1, and the features [first, last).
Tensor block(const Tensor& x, std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
  return x.slice(1, begin, end).slice(2, first, last).contiguous();
}

}  // namespace

TEST_CASE(
    "bilm: editing tokens 4 and 5 leaves the forward vectors of 1 to 3 as they are and changes the backward ones") {
  for (const CellKind cell : kCells) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const BidirectionalBilm model(square_bilm(cell, dtype));
      randomize(model);
      const std::vector<std::int32_t> ids = random_ids(8, 17, 1);
      std::vector<std::int32_t> edited = ids;
      for (const int token : {4, 5}) edited[token - 1] = (ids[token - 1] + 1) % 17;
      const std::vector<Tensor> before = layers_of(model, ids_tensor(ids, {1, 8})),
                                after = layers_of(model, ids_tensor(edited, {1, 8}));
      REQUIRE(before.size() == 3);
      for (std::size_t j = 0; j < before.size(); ++j) {
        CAPTURE(j);
        REQUIRE(before[j].sizes() == Dims{1, 8, 18});
        for (std::int64_t t = 0; t < 8; ++t) {
          CAPTURE(t);
          // The embedding knows its own token alone; a layer knows those from one side up to its own.
          const bool is_edited = t == 3 || t == 4, forward = j == 0 ? is_edited : t >= 3,
                     backward = j == 0 ? is_edited : t <= 4;
          CHECK(same_bits(block(before[j], t, t + 1, 0, 9), block(after[j], t, t + 1, 0, 9)) != forward);
          CHECK(same_bits(block(before[j], t, t + 1, 9, 18), block(after[j], t, t + 1, 9, 18)) != backward);
        }
      }
    }
  }
}

TEST_CASE("bilm: the forward direction predicts each token but the first, the backward one each but the last") {
  const BidirectionalBilm model(small_bilm(CellKind::lstm));
  const std::vector<std::int32_t> ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  Tape tape(no_grad);
  const Batch rows{Variable::constant(tape, ids_tensor(ids, {2, 5})), lengths_tensor({5, 3})};
  const auto predictions = model.predictions(rows);
  // In the order of time: pairs of rows.
  CHECK(predictions[0].targets.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2, 4, 6, 1, -1, 5, -1});
  CHECK(predictions[1].targets.to_vector<std::int32_t>() == std::vector<std::int32_t>{3, 9, 1, 2, 4, -1, 1, -1});
  for (const TokenPrediction& prediction : predictions) CHECK(prediction.features.sizes() == Dims{4, 2, 9});
  CHECK(model.scored_targets(5) == 4);
  const Batch single{Variable::constant(tape, ids_tensor(ids, {10, 1}))};
  CHECK_THROWS_WITH_AS(
      model.predictions(single),
      "bidirectional language model: the rows have 1 token: at least 2 are needed to predict one from another", Error);
}

TEST_CASE("bilm: no prediction reads its own target") {
  for (const CellKind cell : kCells) {
    const BidirectionalBilm model(small_bilm(cell));
    randomize(model);
    const std::vector<std::int32_t> ids = random_ids(6, 17, 2);
    const auto features = [&](const std::vector<std::int32_t>& row, int direction) {
      Tape tape(no_grad);
      return model.predictions({Variable::constant(tape, ids_tensor(row, {1, 6}))})[direction].features.value();
    };
    for (int token = 0; token < 6; ++token) {
      CAPTURE(token);
      std::vector<std::int32_t> edited = ids;
      edited[token] = (ids[token] + 1) % 17;
      for (const int direction : {0, 1}) {
        CAPTURE(direction);
        const Tensor before = features(ids, direction), after = features(edited, direction);
        for (std::int64_t pair = 0; pair < 5; ++pair) {
          // Pair i predicts token i + 1 from those up to i, or token i from those behind it.
          const bool reads = direction == 0 ? token <= pair : token > pair;
          CHECK(same_bits(before.slice(0, pair, pair + 1), after.slice(0, pair, pair + 1)) != reads);
        }
      }
    }
  }
}

TEST_CASE("bilm: a reversed row has the same loss when the directions change places") {
  const BidirectionalBilm model(small_bilm(CellKind::gru)), mirrored(small_bilm(CellKind::gru));
  randomize(model);
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : model.state_dict()) {
    const bool forward = name.starts_with("forward."), backward = name.starts_with("backward.");
    state[forward ? "backward." + name.substr(8) : backward ? "forward." + name.substr(9) : name] = tensor;
  }
  mirrored.load_state_dict(state);
  std::vector<std::int32_t> ids = random_ids(7, 17, 3);
  const double loss = loss_of(model, ids_tensor(ids, {1, 7}), {});
  std::ranges::reverse(ids);
  CHECK(loss_of(mirrored, ids_tensor(ids, {1, 7}), {}) == doctest::Approx(loss).epsilon(1e-14));
  CHECK(loss_of(model, ids_tensor(ids, {1, 7}), {}) != doctest::Approx(loss).epsilon(1e-6));
}

TEST_CASE("bilm: gradients match finite differences" * long_test()) {
  for (const CellKind cell : kCells) {
    for (const bool variant : {false, true}) {  // tied, with residual connections
      CAPTURE(variant);
      BilmConfig config = variant ? square_bilm(cell) : small_bilm(cell);
      config.stack.residual = variant;
      const BidirectionalBilm model(config, /*tied=*/variant);
      randomize(model);
      const Tensor ids = ids_tensor(random_ids(18, 17, 1), {3, 6}), lengths = lengths_tensor({6, 2, 4});
      add_gradients(model, ids, lengths);
      check_gradients(model, gradients_of(model), [&] { return loss_of(model, ids, lengths); });
    }
  }
}

TEST_CASE("bilm: padded rows have the vectors, the loss and the gradients that they have alone") {
  for (const CellKind cell : kCells) {
    const BidirectionalBilm model(small_bilm(cell));
    randomize(model);
    const std::vector<std::int32_t> lengths = {6, 1, 4}, ids = random_ids(18, 17, 1);
    double alone = 0;
    for (const int row : {0, 2}) {  // one token alone has nothing to predict
      const Tensor own = ids_tensor(std::span(ids).subspan(6 * row, lengths[row]), {1, lengths[row]});
      alone += add_gradients(model, own, {}, {.normalizer = 8});
    }
    const Gradients expected = gradients_of(model);
    const std::vector<Tensor> together = layers_of(model, ids_tensor(ids, {3, 6}), lengths_tensor(lengths));
    for (const int row : {0, 1, 2}) {
      const Tensor own = ids_tensor(std::span(ids).subspan(6 * row, lengths[row]), {1, lengths[row]});
      const std::vector<Tensor> layers = layers_of(model, own);
      for (std::size_t j = 0; j < layers.size(); ++j) {
        CHECK(distance(together[j].slice(0, row, row + 1).slice(1, 0, lengths[row]), layers[j]) < 1e-14);
      }
    }
    model.zero_grad();
    // The default normalizer is the number of targets of a direction: 5 + 0 + 3.
    CHECK(add_gradients(model, ids_tensor(ids, {3, 6}), lengths_tensor(lengths)) ==
          doctest::Approx(alone).epsilon(1e-14));
    CHECK(distance(gradients_of(model), expected) < 1e-13);
  }
}

TEST_CASE("bilm: its features are the last layer's vectors, and the head's parameters follow those of the model") {
  const Bilm model(small_bilm(CellKind::lstm));
  randomize(model);
  Tape tape(no_grad);
  const Batch batch{.input_ids = Variable::constant(tape, ids_tensor(random_ids(12, 17, 5), {2, 6}))};
  CHECK(same_bits(model.features(batch).value().contiguous(), model.hidden_states(batch).back().value().contiguous()));
  std::vector<std::string> names;
  for (const NamedParameter& parameter : model.named_parameters()) names.push_back(parameter.name);
  names.insert(names.end(), {"head.weight", "head.bias"});
  std::vector<std::string> with_head;
  for (const NamedParameter& parameter : BidirectionalBilm(small_bilm(CellKind::lstm)).named_parameters()) {
    with_head.push_back(parameter.name);
  }
  CHECK(with_head == names);
}

TEST_CASE("bilm: the directions have layers of their own, and the embedding and the head in common") {
  const std::int64_t first = 4 * (6 * 9 + 9 * 9 + 2 * 9), second = 4 * (9 * 9 + 9 * 9 + 2 * 9);
  const BidirectionalBilm model(small_bilm(CellKind::lstm));
  CHECK(model.parameter_count() == 17 * 6 + 2 * (first + second) + 17 * 9 + 17);
  CHECK(model.parameter_count("backward.") == first + second);
  BilmConfig tied = small_bilm(CellKind::lstm);
  CHECK_THROWS_WITH_AS(BidirectionalBilm(tied, true),
                       "LM head: the embedding is 6 wide, the states 9: expected the same, since the head is tied",
                       Error);
  tied.stack.input_dim = 9;
  CHECK(BidirectionalBilm(tied, true).parameter_count("head.") == 17);
}

TEST_CASE("bilm: dropout is the same for the same step, different for the next, and off in evaluation") {
  BilmConfig config = small_bilm(CellKind::gru);
  config.stack.dropout = 0.5;
  const BidirectionalBilm dropping(config), plain(small_bilm(CellKind::gru));
  randomize(dropping), randomize(plain);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12});
  const auto loss = [&](std::uint32_t step) {
    return add_gradients(dropping, ids, {}, {}, {.training = true, .random = {.step = step}});
  };
  CHECK(loss(1) == loss(1));
  CHECK(loss(1) != loss(2));
  CHECK(add_gradients(dropping, ids, {}) == add_gradients(plain, ids, {}));
}
