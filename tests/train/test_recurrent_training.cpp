// Truncated back-propagation through time: a text in order, with the state carried from row to row.
#include <doctest/doctest.h>

#include <numeric>

#include "nn/recurrent/recurrent.h"
#include "tasks/text/text_evaluation.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

Config rnn_config(const std::string& cell = "lstm") {
  Config config = toy_config_of("rnn", {{"cell", cell}, {"layers", std::int64_t{2}}, {"dim", std::int64_t{12}}});
  config.train.bptt = 16;
  return config;
}

std::vector<float> values_of(const NamedTensors& tensors) {
  std::vector<float> all;
  for (const auto& entry : tensors) {
    const std::vector<float> values = entry.second.to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// The tokens tokens[begin, begin + length) of a text, (1, length).
Variable row_of(Tape& tape, TokenView tokens, std::int64_t begin, std::int64_t length) {
  std::vector<std::int32_t> ids(length);
  tokens.copy(begin, ids);
  return Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {1, length}));
}

}  // namespace

TEST_CASE("recurrent training: steps in order have the losses of one long row, and an epoch begins with empty states") {
  const CacheFolder folder;
  Config config = rnn_config();
  config.optimizer.lr = 0;
  config.train.batch = 1;
  Toy toy(config);
  const TokenView text = toy.data.train.view();
  const std::int64_t epoch = (text.size() - 1) / 16;
  std::vector<double> losses;
  for (std::int64_t step = 1; step <= epoch + 2; ++step) losses.push_back(toy.step(step).loss);
  CHECK(losses[epoch] == losses[0]);
  CHECK(losses[epoch + 1] == losses[1]);

  const kernels::MatmulPrecisionScope precision(matmul_precision(resolve(config)));
  Tape tape(no_grad);
  const double whole =
      toy.model.loss(row_of(tape, text, 0, 16 * epoch), row_of(tape, text, 1, 16 * epoch), {}).value().item();
  const double mean = std::accumulate(losses.begin(), losses.begin() + epoch, 0.0) / static_cast<double>(epoch);
  CHECK(mean == doctest::Approx(whole).epsilon(1e-6));
}

TEST_CASE("recurrent training: 1×8, 2×4 and 8×1 give the same losses, gradients and recurrent states") {
  const CacheFolder folder;
  for (const char* cell : {"lstm", "gru", "tanh"}) {
    CAPTURE(cell);
    Config config = rnn_config(cell);
    config.optimizer.lr = 0;
    std::vector<float> gradient, recurrent_state;
    double loss = 0;
    for (const std::int64_t accumulate : {1, 2, 8}) {
      CAPTURE(accumulate);
      config.train.accumulate = accumulate;
      config.train.batch = 8 / accumulate;
      Toy toy(config);
      StepResult result;
      for (std::int64_t step = 1; step <= 3; ++step) result = toy.step(step);
      const std::vector<float> got = toy.slab.gradients().to_vector<float>();
      const std::vector<float> states = values_of(toy.objective.recurrent_state());
      if (accumulate == 1) {
        gradient = got, recurrent_state = states, loss = result.loss;
        continue;
      }
      CHECK(result.loss == doctest::Approx(loss).epsilon(1e-6));
      CHECK(norm_of_difference(got, gradient) <= 1e-5 * result.grad_norm);
      REQUIRE(states.size() == recurrent_state.size());
      for (std::size_t i = 0; i < states.size(); ++i)
        CHECK(states[i] == doctest::Approx(recurrent_state[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("recurrent training: a run that was cut in two has the weights and states of one that was not") {
  const CacheFolder folder;
  for (const char* cell : {"lstm", "gru", "tanh"}) {
    CAPTURE(cell);
    Config config = rnn_config(cell);
    config.model.options["dropout"] = 0.2;
    config.train.accumulate = 2;
    config.eval.every = 6;
    config.checkpoint.every = 4;
    const auto finish = [&](const std::string& name, std::int64_t cut) {
      const auto toy = trained<Toy>(config, folder.path / (name + cell), cut);
      const std::vector<float> recurrent_state = values_of(toy->objective.recurrent_state());
      CHECK(recurrent_state.size() == (config.model.options.at("cell") == KeyValue("lstm") ? 4 : 2) * 8 * 12);
      return std::pair(toy->weights(), recurrent_state);
    };
    const auto whole = finish("whole", 0);
    CHECK(finish("cut-7", 7) == whole);
    CHECK(finish("cut-12", 12) == whole);
  }
}

TEST_CASE("recurrent training: a state of another batch is refused") {
  const CacheFolder folder;
  Toy toy(rnn_config());
  toy.step(1);
  Config config = rnn_config();
  config.train.batch = 5;
  Toy other(config);
  CHECK_THROWS_WITH_AS(other.objective.load_recurrent_state(toy.objective.recurrent_state()),
                       "the recurrent state h.0 is (4, 12): expected 5 rows (train.batch times train.accumulate)",
                       Error);
  CHECK(toy_config().model.type == "gpt");
  CHECK(Toy().objective.recurrent_state().empty());
}

TEST_CASE("recurrent training: a text too short for its rows is refused") {
  const CacheFolder folder;
  Config config = rnn_config();
  config.train.bptt = 5000;
  CHECK_THROWS_WITH_AS(Toy{config}, doctest::Contains(" tokens: train.bptt = 5000 takes at least 5001"), Error);
  config.train.bptt = 1200;
  CHECK_THROWS_WITH_AS(Toy{config}, doctest::Contains("but 4 rows of 1200 tokens need at least 4801"), Error);
}

TEST_CASE("recurrent training: after the first steps it asks the system for no memory") {
  const CacheFolder folder;
  Config config = rnn_config();
  config.model.options["dropout"] = 0.2;
  config.train.accumulate = 2;
  Toy toy(config);
  check_steady_memory(toy);
}

TEST_CASE("recurrent training: a small model of each cell comes near the entropy rate of a Markov chain") {
  const CacheFolder folder;
  for (const char* cell : {"lstm", "gru", "tanh"}) {
    CAPTURE(cell);
    Config config = rnn_config(cell);
    config.model.options["layers"] = std::int64_t{1};
    config.model.options["dim"] = std::int64_t{32};
    config.data.corpus = "markov";
    config.data.lines = 2000;
    config.optimizer.lr = 0.01;
    config.optimizer.options["weight_decay"] = 0.0;
    config.schedule.kind = ScheduleKind::cosine;
    config.schedule.warmup = 20;
    config.train.steps = 300;
    config.train.batch = 16;
    config.train.bptt = 32;
    Toy toy(config);
    for (std::int64_t step = 1; step <= config.train.steps; ++step) toy.step(step);
    const double loss = evaluate(toy.model, toy.data.valid->view(), {}).loss();
    CHECK(loss < corpus_entropy("markov").value() + 0.03);
    CHECK(loss > corpus_entropy("markov").value() - 0.02);  // of this sample of the chain
  }
}

TEST_CASE("recurrent evaluation: one stream is one long row, and surprisals add up to it") {
  const CacheFolder folder;
  Toy toy(rnn_config());
  for (std::int64_t step = 1; step <= 5; ++step) toy.step(step);
  const TokenView text = toy.data.valid->view();
  REQUIRE(text.size() > 200);  // more than a row that is read at once
  Tape tape(no_grad);
  const std::int64_t targets = text.size() - 1;
  const double expected =
      toy.model.loss(row_of(tape, text, 0, targets), row_of(tape, text, 1, targets), {}).value().item();
  const Evaluation one = evaluate(toy.model, text, {.batch = 1});
  CHECK(one.tokens == targets);
  CHECK(one.loss() == doctest::Approx(expected).epsilon(1e-6));
  const std::vector<double> nats = surprisals(toy.model, text, {});
  CHECK(std::ssize(nats) == targets);
  CHECK(std::accumulate(nats.begin(), nats.end(), 0.0) == doctest::Approx(one.nats).epsilon(1e-6));
  // Streams that begin in the middle of the text first read what is before them.
  const Evaluation many = evaluate(toy.model, text, {.batch = 7});
  CHECK(many.tokens == targets);
  CHECK(many.loss() == doctest::Approx(expected).epsilon(0.05));
}

TEST_CASE("recurrent evaluation: some batches alone are of every stream") {
  const CacheFolder folder;
  const Toy toy(rnn_config());
  const TokenView text = toy.data.train.view();
  REQUIRE(text.size() > 4 * 1000);
  // The first two batches of all streams but the first only warm the state up. A row has 128 tokens.
  CHECK(evaluate(toy.model, text, {.batch = 4, .max_batches = 1}).tokens == (3 + 3) * 128);
  CHECK(evaluate(toy.model, text, {.batch = 4, .max_batches = 2}).tokens == (4 + 3 * 2) * 128);
}
