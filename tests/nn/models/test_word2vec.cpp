// The skip-gram model: its loss, its gradients, its first values and what it refuses.
#include <numbers>

#include "tests/nn/heads_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kVocab = 11, kDim = 5, kCenters = 7, kContexts = 4, kOutputs = 4;  // of a context: 1 + k

Word2vecConfig small_word2vec(DType dtype = DType::f64) { return {.vocab = kVocab, .dim = kDim, .dtype = dtype}; }

// Ids with repetitions, also of a centre among its own outputs.
struct Pairs {
  std::vector<std::int32_t> centers = random_ids(kCenters, kVocab, 1),
                            outputs = random_ids(kCenters * kContexts * kOutputs, kVocab, 2);

  SkipGramPairs on(Tape& tape, std::int64_t begin = 0, std::int64_t end = kCenters) const {
    const std::int64_t each = kContexts * kOutputs;
    return {Variable::constant(tape, ids_tensor(std::span(centers).subspan(begin, end - begin), {end - begin, 1})),
            Variable::constant(tape, ids_tensor(std::span(outputs).subspan(begin * each, (end - begin) * each),
                                                {end - begin, kContexts, kOutputs}))};
  }
};

double loss_of(const SkipGramModel& model, const Pairs& pairs, double normalizer) {
  Tape tape(no_grad);
  return model.loss(pairs.on(tape), normalizer).value().item();
}

double add_gradients(const SkipGramModel& model, const Pairs& pairs, double normalizer, std::int64_t begin = 0,
                     std::int64_t end = kCenters) {
  Tape tape;
  const Variable loss = model.loss(pairs.on(tape, begin, end), normalizer);
  tape.backward(loss);
  return loss.value().item();
}

// Σ −ln σ(u_o·v_c) − Σ_n ln σ(−u_n·v_c), written out.
double loss_by_hand(const SkipGramModel& model, const Pairs& pairs) {
  const std::map<std::string, Tensor> state = model.state_dict();
  const double *v = state.at("token_embedding.weight").data<double>(),
               *u = state.at("context_embedding.weight").data<double>();
  double loss = 0;
  for (std::int64_t i = 0; i < std::ssize(pairs.outputs); ++i) {
    const std::int64_t center = pairs.centers[i / (kContexts * kOutputs)];
    double score = 0;
    for (std::int64_t k = 0; k < kDim; ++k) score += u[pairs.outputs[i] * kDim + k] * v[center * kDim + k];
    loss -= std::log(1 / (1 + std::exp(i % kOutputs == 0 ? -score : score)));
  }
  return loss;
}

}  // namespace

TEST_CASE("word2vec: the loss is that of the paper, and its gradients match finite differences") {
  const SkipGramWord2vec model(small_word2vec());
  randomize(model);
  const Pairs pairs;
  CHECK(loss_of(model, pairs, 1) == doctest::Approx(loss_by_hand(model, pairs)).epsilon(1e-13));
  CHECK(loss_of(model, pairs, 28) == doctest::Approx(loss_by_hand(model, pairs) / 28).epsilon(1e-13));
  add_gradients(model, pairs, 28);
  check_gradients(model, gradients_of(model), [&] { return loss_of(model, pairs, 28); });
}

TEST_CASE("cbow: the mean of the contexts' vectors predicts the centre; its gradients match finite differences") {
  const SkipGramWord2vec model(small_word2vec());
  randomize(model);
  const std::vector<std::int32_t> inputs = random_ids(kCenters * kContexts, kVocab, 3),
                                  outputs = random_ids(kCenters * kOutputs, kVocab, 4);
  const auto loss = [&](Tape& tape) {
    return model.loss({Variable::constant(tape, ids_tensor(inputs, {kCenters, kContexts})),
                       Variable::constant(tape, ids_tensor(outputs, {kCenters, 1, kOutputs}))},
                      kCenters);
  };
  const auto value = [&] {
    Tape tape(no_grad);
    return loss(tape).value().item();
  };
  const std::map<std::string, Tensor> state = model.state_dict();
  const double *v = state.at("token_embedding.weight").data<double>(),
               *u = state.at("context_embedding.weight").data<double>();
  double expected = 0;
  for (std::int64_t n = 0; n < kCenters; ++n) {
    for (std::int64_t o = 0; o < kOutputs; ++o) {
      double score = 0;
      for (std::int64_t c = 0; c < kContexts; ++c) {
        for (std::int64_t k = 0; k < kDim; ++k)
          score += u[outputs[n * kOutputs + o] * kDim + k] * v[inputs[n * kContexts + c] * kDim + k] / kContexts;
      }
      expected -= std::log(1 / (1 + std::exp(o == 0 ? -score : score))) / kCenters;
    }
  }
  CHECK(value() == doctest::Approx(expected).epsilon(1e-13));
  Tape tape;
  tape.backward(loss(tape));
  check_gradients(model, gradients_of(model), value);
}

TEST_CASE("glove: the loss is that of the paper, its gradients match finite differences, and a vector is a sum") {
  const GloveWord2vec model(small_word2vec());
  randomize(model);
  const std::vector<Cooccurrence> pairs{{1, 2, 3.5}, {2, 1, 3.5}, {4, 4, 250.0}, {9, 0, 0.25}};
  const GloveWeighting weighting{.x_max = 20, .alpha = 0.5};
  const auto value = [&] {
    Tape tape(no_grad);
    return model.loss(tape, pairs, weighting, 4).value().item();
  };
  const std::map<std::string, Tensor> state = model.state_dict();
  const auto at = [&](const char* name, std::int64_t i) { return state.at(name).data<double>()[i]; };
  double expected = 0;
  for (const Cooccurrence& pair : pairs) {
    double error =
        at("bias_embedding.weight", pair.i) + at("context_bias_embedding.weight", pair.j) - std::log(pair.count);
    for (std::int64_t k = 0; k < kDim; ++k)
      error += at("token_embedding.weight", pair.i * kDim + k) * at("context_embedding.weight", pair.j * kDim + k);
    expected += std::min(1.0, std::sqrt(pair.count / 20)) * error * error / 4;
  }
  CHECK(value() == doctest::Approx(expected).epsilon(1e-13));
  Tape tape;
  tape.backward(model.loss(tape, pairs, weighting, 4));
  check_gradients(model, gradients_of(model), value);

  const std::vector<std::int32_t> ids{9, 3};
  Tape no_tape(no_grad);
  const std::vector<Variable> layers = model.hidden_states({Variable::constant(no_tape, ids_tensor(ids, {1, 2}))});
  REQUIRE(layers.size() == 1);
  for (std::int64_t k = 0; k < kDim; ++k) {
    CHECK(layers[0].value().data<double>()[k] ==
          at("token_embedding.weight", 9 * kDim + k) + at("context_embedding.weight", 9 * kDim + k));
  }
}

TEST_CASE("word2vec: parts of the pairs have losses and gradients that add up to those of all") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const SkipGramWord2vec model(small_word2vec(dtype));
    randomize(model);
    const Pairs pairs;
    const double whole = add_gradients(model, pairs, 28);
    const Gradients gradients = gradients_of(model);
    model.zero_grad();
    double sum = 0;
    for (std::int64_t i = 0; i < kCenters; ++i) sum += add_gradients(model, pairs, 28, i, i + 1);
    const double tolerance = dtype == DType::f64 ? 1e-13 : 1e-5;
    CHECK(sum == doctest::Approx(whole).epsilon(tolerance));
    CHECK(distance(gradients_of(model), gradients) < tolerance);
  }
}

TEST_CASE("word2vec: it begins as word2vec.c does, with a loss of (1 + k) ln 2 a pair") {
  const SkipGramWord2vec model(small_word2vec(DType::f32));
  model.initialize_parameters(3);
  const std::vector<double> v = values_of(model.state_dict().at("token_embedding.weight"));
  for (const double value : v) CHECK(std::abs(value) <= 0.5 / kDim);
  CHECK(std::ranges::max(v) > 0.05);
  for (const double value : values_of(model.state_dict().at("context_embedding.weight"))) CHECK(value == 0);
  CHECK(loss_of(model, Pairs(), kCenters * kContexts) == doctest::Approx(kOutputs * std::numbers::ln2).epsilon(1e-6));
}

TEST_CASE("word2vec: a token's vector is its row, whatever is beside it") {
  const SkipGramWord2vec model(small_word2vec());
  randomize(model);
  const std::vector<std::int32_t> ids{3, 9, 3};
  Tape tape(no_grad);
  const std::vector<Variable> layers = model.hidden_states({Variable::constant(tape, ids_tensor(ids, {1, 3}))});
  REQUIRE(layers.size() == 1);
  const std::map<std::string, Tensor> state = model.state_dict();
  for (std::int64_t t = 0; t < 3; ++t) {
    CHECK(same_bits(layers[0].value().slice(1, t, t + 1).contiguous().reshape({kDim}),
                    state.at("token_embedding.weight").slice(0, ids[t], ids[t] + 1).contiguous().reshape({kDim})));
  }
}

TEST_CASE("word2vec: what it refuses") {
  const SkipGramWord2vec model(small_word2vec());
  Tape tape(no_grad);
  const auto ids = [&](const Dims& sizes) { return Variable::constant(tape, Tensor::full(sizes, DType::i32, 0)); };
  CHECK_THROWS_WITH_AS(model.loss({ids({3, 1}), ids({2, 4, 4})}, 1),
                       "skip-gram: the inputs are (3, 1), the outputs (2, 4, 4): expected (N, I) and (N, C, 1 + k)",
                       Error);
  CHECK_THROWS_WITH_AS(model.hidden_states({ids({3})}), "word2vec: expected ids (B, T), got (3)", Error);
}
