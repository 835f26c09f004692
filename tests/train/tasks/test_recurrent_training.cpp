// Truncated back-propagation through time: a text in order, with the state carried from row to row.
#include <doctest/doctest.h>

#include <numeric>

#include "nn/recurrent/recurrent.h"
#include "tasks/text/loss_breakdown.h"
#include "tasks/text/text_evaluation.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

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

TEST_CASE("recurrent training: the state has the cell's tensors of every row") {
  const CacheFolder folder;
  for (const char* cell : {"lstm", "gru", "tanh"}) {
    CAPTURE(cell);
    Toy toy(rnn_config(cell));
    toy.step(1);
    const std::size_t tensors = std::string(cell) == "lstm" ? 4 : 2;
    CHECK(values_of(toy.objective.recurrent_state()).size() == tensors * 4 * 12);
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

TEST_CASE("recurrent training: a warning says how much of the text the rows leave unread") {
  const CacheFolder folder;
  Config config = rnn_config();
  const Toy toy(config);
  CHECK(toy.objective.facts().warnings.empty());
  const std::int64_t stream = (toy.data.train.size() - 1) / 4, row = stream / 2 + 1;
  REQUIRE(stream > 400);
  config.train.bptt = row;
  const Toy half(config);
  const std::vector<std::string> warnings = half.objective.facts().warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == str_cat("train.bptt: rows of ", row, " tokens read ", row, " of the ", stream,
                               " tokens of each stream: 50 % of the training text is never read; other rows or fewer "
                               "streams (train.batch times train.accumulate, 4) leave less of it"));
}

TEST_CASE("recurrent training: a small model of each cell comes near the entropy rate of a Markov chain") {
  const CacheFolder folder;
  for (const char* cell : {"lstm", "gru", "tanh"}) {
    CAPTURE(cell);
    Config config = rnn_config(cell);
    config.model.options["layers"] = std::int64_t{1};
    config.model.options["dim"] = std::int64_t{32};
    learn_quickly(config, {});
    config.train.bptt = 32;
    Toy toy(config);
    toy.steps(1, config.train.steps);
    const double loss = evaluate(toy.model, toy.data.valid->view(), {}).loss();
    CHECK(loss < corpus_entropy("markov").value() + 0.03);
    CHECK(loss > corpus_entropy("markov").value() - 0.02);  // of this sample of the chain
  }
}

TEST_CASE("recurrent evaluation: one stream is one long row, and surprisals add up to it") {
  const CacheFolder folder;
  Toy toy(rnn_config());
  toy.steps(1, 5);
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

TEST_CASE("recurrent evaluation: the loss by frequency is that of the same streams, and adds up to it") {
  const CacheFolder folder;
  Config config = rnn_config();
  config.model.options["forget_bias"] = 20.0;  // it remembers more than a stream reads before its beginning
  Toy toy(config);
  toy.steps(1, 5);
  const TokenView text = toy.data.train.view();
  const WindowOptions streams{.batch = 7};
  std::vector<LossBreakdown> breakdowns{breakdown_by_frequency(text, toy.model.vocab())};
  const Evaluation all = evaluate_breakdowns(toy.model, text, streams, breakdowns);
  const Evaluation expected = evaluate(toy.model, text, streams), one = evaluate(toy.model, text, {.batch = 1});
  CHECK(all.tokens == expected.tokens);
  CHECK(all.nats == doctest::Approx(expected.nats).epsilon(1e-6));
  CHECK(all.nats != doctest::Approx(one.nats).epsilon(1e-4));
  double nats = 0;
  for (const LossBin& bin : breakdowns[0].bins) nats += bin.nats;
  CHECK(nats == doctest::Approx(all.nats).epsilon(1e-9));
}

TEST_CASE("recurrent evaluation: some batches alone are of every stream") {
  const CacheFolder folder;
  const Toy toy(rnn_config());
  const TokenView text = toy.data.train.view();
  REQUIRE(text.size() > 4 * 1000);
  // The first two batches of all streams but the first only warm the state up. A row has 128 tokens.
  CHECK(evaluate(toy.model, text, {.batch = 4, .max_batches = 1}).tokens == (3 + 3) * 128);
  CHECK(evaluate(toy.model, text, {.batch = 4, .max_batches = 2}).tokens == (4 + 3 * 2) * 128);
  // A single stream has none to warm up.
  CHECK(evaluate(toy.model, text, {.batch = 1, .max_batches = 2}).tokens == 2 * 128);
}
