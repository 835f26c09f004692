// Masked language models: what they read, what they predict from, and how many parameters they have.
#include "autograd/ops/arithmetic.h"
#include "tests/nn/heads_support.h"

using namespace tapeformer;

namespace {

BertConfig small_bert(DType dtype = DType::f64, NormPlace norm = NormPlace::post) {
  return {.vocab = 17,
          .context = 12,
          .layers = 2,
          .block = {.dim = 8, .heads = 2, .ff_dim = 12, .norm = norm, .norm_eps = 1e-12, .dtype = dtype},
          .segments = 2};
}

// A small BERT whose blocks have RMS norms, rotary positions, SwiGLU and grouped queries.
BertConfig modern_bert() {
  BertConfig config = small_bert();
  config.block = modern(config.block);
  config.position = Rotary{};
  return config;
}

// A small BERT of attention alone, without positions.
BertConfig bare_bert() {
  BertConfig config = small_bert();
  config.block.norm_kind = NormKind::none, config.block.feed_forward = FeedForwardKind::none;
  config.block.attention_scale = 0.5, config.embedding_scale = 1.5;
  config.position = NoPositions{};
  return config;
}

Tensor row_tensor(const std::vector<std::int32_t>& values) {
  return Tensor::from(std::span<const std::int32_t>(values), {std::ssize(values)});
}

// Three rows of 8 tokens at most, of which some are chosen, with segments and labels.
struct Rows {
  std::vector<std::int32_t> ids = random_ids(24, 17, 1), lengths{8, 5, 7}, labels{0, 1, 0};
  std::vector<std::int32_t> targets = std::vector<std::int32_t>(24, -1), segments = std::vector<std::int32_t>(24, 0);

  Rows() {
    for (const int place : {1, 4, 10, 18, 21}) targets[place] = (5 * place) % 17;
    for (int row = 0; row < 3; ++row) {
      for (int t = 3; t < lengths[row]; ++t) segments[8 * row + t] = 1;
    }
  }
  MaskedRows on(Tape& tape) const {
    return {.text = {.input_ids = Variable::constant(tape, ids_tensor(ids, {3, 8})),
                     .lengths = row_tensor(lengths),
                     .token_type_ids = ids_tensor(segments, {3, 8})},
            .targets = ids_tensor(targets, {3, 8}),
            .sentence_labels = row_tensor(labels)};
  }
  // One row by itself, without its padding.
  MaskedRows alone(Tape& tape, int row) const {
    const auto own = [&](const std::vector<std::int32_t>& values) {
      return ids_tensor(std::span(values).subspan(8 * row, lengths[row]), {1, lengths[row]});
    };
    return {.text = {.input_ids = Variable::constant(tape, own(ids)), .token_type_ids = own(segments)},
            .targets = own(targets),
            .sentence_labels = row_tensor({labels[row]})};
  }
};

double loss_of(const MaskedLanguageModel& model, const Rows& rows) {
  Tape tape(no_grad);
  return model.loss(rows.on(tape), {}).value().item();
}

double add_gradients(const MaskedLanguageModel& model, const Rows& rows, const TapeOptions& options = {}) {
  Tape tape(options);
  const Variable loss = model.loss(rows.on(tape), {});
  tape.backward(loss);
  return loss.value().item();
}

}  // namespace

TEST_CASE(
    "bert: gradients match finite differences, of the tokens and of the next sentence, post- and pre-norm, of today's "
    "blocks and of attention alone, with the embedding as head and without") {
  for (const BertConfig& architecture :
       {small_bert(), small_bert(DType::f64, NormPlace::pre), modern_bert(), bare_bert()}) {
    for (const bool next_sentence : {true, false}) {
      CAPTURE(next_sentence);
      const MaskedBert model(architecture, next_sentence, /*tied=*/next_sentence);
      randomize(model);
      const Rows rows;
      add_gradients(model, rows);
      check_gradients(
          model, gradients_of(model), [&] { return loss_of(model, rows); }, 1e-5);
    }
  }
}

TEST_CASE("bert: padded rows have the vectors, the loss and the gradients that they have alone") {
  for (const BertConfig& config : {small_bert(), modern_bert(), bare_bert()}) {
    const MaskedBert model(config);
    randomize(model);
    Rows rows;
    double expected_loss = 0;
    for (const int row : {0, 1, 2}) {
      Tape tape;
      const Variable loss = model.loss(rows.alone(tape, row), {.normalizer = 5}, 3);
      tape.backward(loss);
      expected_loss += loss.value().item();
    }
    const Gradients expected = gradients_of(model);
    for (const std::int32_t padding : {0, 9}) {
      for (int row = 0; row < 3; ++row) {
        for (int t = rows.lengths[row]; t < 8; ++t) rows.ids[8 * row + t] = padding;
      }
      model.zero_grad();
      CHECK(add_gradients(model, rows) == doctest::Approx(expected_loss).epsilon(1e-13));
      CHECK(distance(gradients_of(model), expected) < 1e-12);
      Tape tape(no_grad);
      const std::vector<Variable> together = model.hidden_states(rows.on(tape).text);
      REQUIRE(together.size() == 3);
      for (const int row : {0, 1, 2}) {
        const std::vector<Variable> alone = model.hidden_states(rows.alone(tape, row).text);
        for (std::size_t j = 0; j < 3; ++j) {
          const Tensor own = together[j].value().slice(0, row, row + 1).slice(1, 0, rows.lengths[row]);
          CHECK(distance(own, alone[j].value()) < 1e-13);
        }
      }
    }
  }
}

TEST_CASE("bert: every token's vector depends on every token of its row, the embedding's on its own alone") {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre}) {
    const MaskedBert model(small_bert(DType::f64, norm));
    randomize(model);
    const auto layers = [&](const std::vector<std::int32_t>& ids) {
      Tape tape(no_grad);
      std::vector<Tensor> values;
      for (const Variable& layer : model.hidden_states({Variable::constant(tape, ids_tensor(ids, {2, 6}))})) {
        values.push_back(layer.value());
      }
      return values;
    };
    std::vector<std::int32_t> ids = random_ids(12, 17, 2);
    const std::vector<Tensor> before = layers(ids);
    for (const int edited : {0, 3, 5}) {
      std::vector<std::int32_t> changed = ids;
      changed[edited] = (ids[edited] + 1) % 17;
      const std::vector<Tensor> after = layers(changed);
      for (std::size_t j = 0; j < before.size(); ++j) {
        for (std::int64_t t = 0; t < 6; ++t) {
          const auto at = [&](const Tensor& x) { return x.slice(0, 0, 1).slice(1, t, t + 1).contiguous(); };
          CHECK(same_bits(at(before[j]), at(after[j])) == (j == 0 && t != edited));
        }
        CHECK(same_bits(before[j].slice(0, 1, 2), after[j].slice(0, 1, 2)));
      }
    }
    Tape tape(no_grad);
    const Variable row = Variable::constant(tape, ids_tensor(ids, {2, 6}));
    CHECK(same_bits(model.features({row}).value(), before.back()));
  }
}

TEST_CASE("bert: only the chosen places are predicted, and their targets are no input") {
  const MaskedBert model(small_bert());
  randomize(model);
  const Rows rows;
  const auto chosen = [&](const Rows& of) {
    Tape tape(no_grad);
    const MaskedRows masked = of.on(tape);
    const TokenPrediction masked_tokens = scored_positions(model.features(masked.text), masked.targets);
    return std::pair{masked_tokens.features.value(), masked_tokens.targets.to_vector<std::int32_t>()};
  };
  const auto [features, targets] = chosen(rows);
  CHECK(features.sizes() == Dims{5, 8});
  CHECK(targets == std::vector<std::int32_t>{5, 3, 16, 5, 3});
  Rows edited = rows;
  for (std::int32_t& target : edited.targets) target = target == -1 ? -1 : (target + 1) % 17;
  CHECK(same_bits(chosen(edited).first, features));
  Tape tape(no_grad);
  const Tensor all = model.features(rows.on(tape).text).value();
  CHECK(same_bits(features.slice(0, 1, 2), all.slice(0, 0, 1).slice(1, 4, 5).reshape({1, 8})));
  CHECK(same_bits(features.slice(0, 3, 4), all.slice(0, 2, 3).slice(1, 2, 3).reshape({1, 8})));
}

TEST_CASE("bert: a row is as long as the context at most, and segments are read where they have an embedding") {
  BertConfig config = small_bert();
  const MaskedBert model(config);
  randomize(model);
  Tape tape(no_grad);
  const auto rows = [&](std::int64_t length) {
    return Batch{Variable::constant(tape, ids_tensor(random_ids(length, 17, 3), {1, length}))};
  };
  CHECK(model.features(rows(12)).sizes() == Dims{1, 12, 8});
  CHECK_THROWS_AS(model.features(rows(13)), Error);
  Batch first = rows(4), second = rows(4);
  first.token_type_ids = ids_tensor(std::vector<std::int32_t>{0, 0, 0, 0}, {1, 4});
  second.token_type_ids = ids_tensor(std::vector<std::int32_t>{0, 0, 1, 1}, {1, 4});
  CHECK(same_bits(model.features(first).value(), model.features(rows(4)).value()));
  CHECK_FALSE(same_bits(model.features(second).value(), model.features(first).value()));
  config.segments = 1;
  const MaskedBert plain(config, /*next_sentence=*/false);
  randomize(plain);
  CHECK_THROWS_WITH_AS(plain.features(second),
                       "bert: the batch has token types, but the model has no embedding of them", Error);
  CHECK_THROWS_WITH_AS(plain.next_sentence_logits(plain.features(rows(4))),
                       "masked language model: it was made without next-sentence prediction", Error);
}

TEST_CASE("bert: BERT base has 109,482,240 parameters without the heads of its pre-training") {
  const ShapesOnly shapes;
  const MaskedBert model({.vocab = 30522,
                          .context = 512,
                          .layers = 12,
                          .block = {.dim = 768, .heads = 12, .ff_dim = 3072, .norm = NormPlace::post},
                          .segments = 2});
  const std::int64_t heads = model.parameter_count("head.") + model.parameter_count("next_sentence.");
  CHECK(model.parameter_count() - heads == 109482240);
  CHECK(model.parameter_count("pooler.") == 768 * 768 + 768);
  CHECK(heads == 768 * 768 + 768 + 2 * 768 + 30522 + 2 * 768 + 2);  // BertForPreTraining: 110,106,428 with them
}

TEST_CASE("bert: recomputed activations give the same loss and gradients, bit for bit, with dropout") {
  BertConfig config = small_bert();
  config.block.dropout = config.block.attention_dropout = 0.3;
  const MaskedBert model(config);
  randomize(model);
  const Rows rows;
  const TapeOptions training{.training = true, .random = {.step = 4}};
  TapeOptions again = training;
  again.recompute = true;
  const double loss = add_gradients(model, rows, training);
  const Gradients gradients = gradients_of(model);
  model.zero_grad();
  CHECK(add_gradients(model, rows, again) == loss);
  CHECK(same_bits(gradients_of(model), gradients));
  model.zero_grad();
  TapeOptions next = training;
  next.random.step = 5;
  CHECK(add_gradients(model, rows, next) != loss);
}

TEST_CASE(
    "init: a truncated normal distribution ends at two deviations, and a second draw takes the place of a first") {
  const Tensor values = Tensor::empty({100000}, DType::f64), plain = Tensor::empty({100000}, DType::f64);
  const RandomKey key{.seed = 3};
  initialize(values, Init::truncated_normal(0.02), key);
  initialize(plain, Init::normal(0.02), key);
  double sum = 0, squares = 0, kept = 0;
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double x = values.data<double>()[i], drawn = plain.data<double>()[i];
    CHECK(std::abs(x) <= 0.04);
    CHECK((x == drawn) == (std::abs(drawn) <= 0.04));
    kept += x == drawn, sum += x, squares += x * x;
  }
  CHECK(kept / 1e5 == doctest::Approx(0.9545).epsilon(0.005));
  CHECK(std::abs(sum / 1e5) < 3e-4);
  CHECK(std::sqrt(squares / 1e5) == doctest::Approx(0.02 * 0.8796).epsilon(0.01));
}
