#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "autograd/ops/ops.h"
#include "core/error.h"
#include "tests/system_calls.h"
#include "tests/train/toy.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"

using namespace tapeformer;
using Steps = std::vector<std::int64_t>;

namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The loss √w: finite at w = 0, where its gradient is not.
struct RootObjective : Objective {
  struct Root : Module {
    Variable w = register_parameter("w", {1}, DType::f32, Init::zeros());
  } module;

  RootObjective() : Objective(resolve(Config())) {}
  const Module& model() const override { return module; }
  DataFacts facts() const override { return {}; }
  StepSize step_size(std::int64_t, MicroSteps) override { return {1, 1}; }
  Variable micro_loss(Tape& tape, std::int64_t, std::int64_t, const MeanOver&) override {
    return sum(sqrt(module.w.on(tape)));
  }
  ValidationFacts validation() const override { return {.missing = "no data"}; }
  Evaluation evaluate(const ProgressCallback&) override { return {}; }
};

// Trains from the start in a folder of its own, and keeps the objects.
struct TrainedToy {
  explicit TrainedToy(const Config& config, const std::string& name, const TrainHooks& hooks = {})
      : toy(config),
        run(create_run(folder.path / name, to_toml(resolve(config)), {toy.data.tokenizer->to_json(), ""})) {
    end = train(toy.objective, toy.slab, toy.optimizer, toy.resolved, run, state, hooks);
  }

  CacheFolder folder;
  Toy toy;
  RunFolder run;
  TrainingState state;
  TrainEnd end;
};

}  // namespace

TEST_CASE("train step: the loss falls, and the norm is the gradient's before clipping") {
  const CacheFolder folder;
  Config config = toy_config();
  config.optimizer.lr = 1e-2;
  config.optimizer.clip = 1e-3;
  Toy toy(config);
  const double vocab = static_cast<double>(toy.data.tokenizer->vocab_size());
  const StepResult first = toy.step(1);
  CHECK(first.loss == doctest::Approx(std::log(vocab)).epsilon(0.02));
  double squares = 0;
  for (const float g : toy.slab.gradients().to_vector<float>()) squares += static_cast<double>(g) * g;
  CHECK(first.grad_norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-9));
  CHECK(first.grad_norm > 1e-3);
  StepResult last;
  for (int step = 2; step <= 40; ++step) last = toy.step(step);
  CHECK(last.loss < first.loss - 0.3);
}

TEST_CASE("train step: 1×32, 2×16, 4×8 and 32×1 give the same loss and gradient") {
  const CacheFolder folder;
  for (Config config : {toy_config(), modern_config()}) {
    config.train.label_smoothing = 0.1;
    check_accumulation(config, 32, {1, 2, 4, 32}, 3, 1e-6);
  }
}

TEST_CASE("train step: the z-loss is part of the loss and its gradient, not of the plain loss or the evaluation") {
  const CacheFolder folder;
  Config config = toy_config();
  Toy plain(config);
  config.train.z_loss = 0.1;
  Toy with_z(config);
  CHECK(with_z.objective.evaluate({}).loss() == plain.objective.evaluate({}).loss());
  const StepResult expected = plain.step(1), result = with_z.step(1);
  CHECK_FALSE(expected.nll_loss.has_value());
  CHECK(*result.nll_loss == doctest::Approx(expected.loss).epsilon(1e-6));
  CHECK(result.loss > expected.loss + 0.1);
  CHECK(result.grad_norm != expected.grad_norm);
}

TEST_CASE("train step: recomputed, 20 steps give the same losses, weights and moments to the bit") {
  const CacheFolder folder;
  Config config = toy_config();
  config.model.options["layers"] = 4;
  config.model.options["dropout"] = 0.1;
  config.train.accumulate = 2;
  config.train.label_smoothing = 0.1;
  REQUIRE(resolve(config).model.options.text("tie_embeddings") == "output");
  Toy plain(config);
  config.train.recompute = true;
  Toy again(config);
  for (std::int64_t number = 1; number <= 20; ++number) {
    const StepResult expected = plain.step(number), result = again.step(number);
    CHECK(result.loss == expected.loss);
    CHECK(result.grad_norm == expected.grad_norm);
  }
  CHECK(same_bits(again.weights(), plain.weights()));
  const NamedTensors moments = again.optimizer.state(), expected = plain.optimizer.state();
  REQUIRE(moments.size() == expected.size());
  for (std::size_t i = 0; i < moments.size(); ++i) {
    CHECK(same_bits(moments[i].second.to_vector<float>(), expected[i].second.to_vector<float>()));
  }
}

TEST_CASE("train step: a loss that is not finite is an error, and leaves the weights as they were") {
  const CacheFolder folder;
  Config config = toy_config();
  SUBCASE("because of a weight") {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Toy toy(config);
      toy.step(1);
      toy.model.state_dict().at("blocks.1.feed_forward.up.weight").data<float>()[5] = bad;
      const std::vector<float> before = toy.weights();
      try {
        toy.step(2);
        FAIL("expected an error");
      } catch (const Error& error) {
        CHECK(std::string(error.what()).starts_with("step 2: the loss is "));
        CHECK(std::string(error.what()).ends_with("; a lower optimizer.lr or a longer schedule.warmup may help"));
      }
      CHECK(same_bits(toy.weights(), before));
    }
  }
  SUBCASE("because of a huge learning rate") {
    config.optimizer.lr = 1e30;
    config.optimizer.options["weight_decay"] = 0.0;
    config.schedule.warmup = 0;
    Toy toy(config);
    toy.step(1);
    const std::vector<float> before = toy.weights();
    CHECK_THROWS_AS(toy.step(2), Error);
    CHECK(same_bits(toy.weights(), before));
  }
}

TEST_CASE("train step: a gradient that is not finite is an error, and leaves the weights as they were") {
  RootObjective objective;
  objective.module.initialize_parameters(1);
  const ParameterSlab slab(objective.module);
  const auto optimizer = make_optimizer("adamw", slab, {});
  CHECK_THROWS_WITH_AS(
      train_step(objective, slab, *optimizer, resolve(toy_config()), 1, 1e-3),
      "step 1: the gradient's norm is inf; the first value that is not finite is of the backward of "
      "sqrt: the gradient of its input w (1) has inf at (0), beside [inf]; the gradient of its output: "
      "(1), finite; a lower optimizer.lr or a longer schedule.warmup may help",
      Error);
  CHECK(objective.module.w.value().item() == 0);
  CHECK(optimizer->state()[0].second.item() == 0);
}

TEST_CASE("train step: the batch after the one that is worked on is read ahead") {
  const CacheFolder folder;
  Config config = toy_config();
  config.train.accumulate = 2;
  Toy toy(config);
  // What is asked for while the steps 3 and 4 run: the batch after each of their four.
  using Request = std::pair<std::int64_t, std::int64_t>;  // offset in the file, bytes
  std::vector<Request> asked, expected;
  const WillNeedHook hook([&](std::int64_t offset, std::int64_t bytes) { asked.emplace_back(offset, bytes); });
  const TextBatcher batcher(toy.data.train.view(), config.train.batch, toy.resolved.block_size(),
                            static_cast<std::uint64_t>(config.train.seed));
  for (const auto& [step, micro_step] : {std::pair{3, 1}, {4, 0}, {4, 1}, {5, 0}}) batcher.read_ahead(step, micro_step);
  expected.swap(asked);
  toy.step(3);
  toy.step(4);
  CHECK(expected.size() == 4 * 4);
  CHECK((asked == expected));
}

TEST_CASE("train: evaluation in the middle changes nothing that follows") {
  Config config = toy_config();
  config.model.options["dropout"] = 0.1;
  config.train.accumulate = 2;
  config.checkpoint.every = 0;
  config.eval.every = 0;
  const std::vector<float> plain = TrainedToy(config, "plain").toy.weights();
  config.eval.every = 1;
  config.eval.stride = 5;
  std::vector<std::int64_t> evaluated;
  const TrainHooks hooks{
      .evaluated = [&](std::int64_t step, const Evaluation&, std::optional<double>) { evaluated.push_back(step); },
  };
  const TrainedToy watched(config, "watched", hooks);
  CHECK(evaluated == Steps{1, 2, 3, 4, 5, 6});
  CHECK(same_bits(watched.toy.weights(), plain));
}

TEST_CASE("train: what it writes, and when") {
  Config config = toy_config();
  config.train.steps = 9, config.train.accumulate = 3, config.train.log_every = 4;
  config.eval.every = 6;
  config.checkpoint.every = 4, config.checkpoint.keep = 2;
  std::vector<ProgressState> progress;
  const TrainHooks hooks{
      .progress = [&](const ProgressState& state) { progress.push_back(state); },
  };
  const TrainedToy run(config, "run", hooks);
  CHECK(run.end == TrainEnd::finished);
  CHECK(run.state.step == 9);
  CHECK(run.state.tokens == 9 * 3 * 4 * 16);
  CHECK(run.state.elapsed_s > 0);

  std::vector<std::int64_t> logged, evaluated;
  for (const auto& line : read_metrics(run.run.metrics())) {
    (line.contains("eval_loss") ? evaluated : logged).push_back(line["step"].get<std::int64_t>());
  }
  CHECK(logged == Steps{1, 4, 8, 9});
  CHECK(evaluated == Steps{6, 9});
  CHECK(latest_step(run.run) == 9);
  CHECK(best_step(run.run) == run.state.best_step);
  const Steps kept = list_checkpoints(run.run);
  CHECK(kept.back() == 9);
  CHECK(kept.size() <= 3);

  REQUIRE(progress.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(progress[i].step == static_cast<std::int64_t>(i) + 1);
    CHECK(progress[i].steps == 9);
    CHECK(progress[i].first_step == 0);
    CHECK(std::isfinite(progress[i].loss));
    CHECK(progress[i].tokens_per_s > 0);
  }
}

TEST_CASE("train: the speed of steps that take different times is that of their tokens together") {
  RecentSpeed alike;
  for (int step = 0; step < 100; ++step) CHECK(alike.after_step(50, 0.5) == doctest::Approx(100));
  RecentSpeed rounds;  // each tenth step takes ten times as long: 10 steps of 50 tokens take 9.5 s
  std::vector<double> speeds;
  for (int step = 1; step <= 200; ++step) speeds.push_back(rounds.after_step(50, step % 10 == 0 ? 5 : 0.5));
  const double mean = std::accumulate(speeds.begin() + 100, speeds.end(), 0.0) / 100;
  CHECK(mean == doctest::Approx(500 / 9.5).epsilon(0.05));  // the mean of the speeds of steps is 91
}

TEST_CASE("train: stops when asked, after the step, with a checkpoint") {
  Config config = toy_config();
  config.checkpoint.every = 0;
  std::int64_t done = 0;
  const TrainHooks hooks{.progress = [&](const ProgressState& state) { done = state.step; },
                         .stop_requested = [&] { return done == 3; }};
  const TrainedToy run(config, "run", hooks);
  CHECK(run.end == TrainEnd::stopped);
  CHECK(run.state.step == 3);
  CHECK(list_checkpoints(run.run) == Steps{3});

  config.train.max_minutes = 1e-9;
  const TrainedToy late(config, "late");
  CHECK(late.end == TrainEnd::out_of_time);
  CHECK(list_checkpoints(late.run) == Steps{1});
}

TEST_CASE("train: before the first whole step there is nothing to save") {
  Config config = toy_config();
  config.train.accumulate = 4;
  const TrainedToy none(config, "none", {.stop_requested = [] { return true; }});
  CHECK(none.end == TrainEnd::stopped);
  CHECK(none.state.step == 0);
  CHECK(list_checkpoints(none.run).empty());
}

TEST_CASE("train: plateau halves the rate after each evaluation whose loss is not below the best, also when resumed") {
  Config config = toy_config();
  config.optimizer.lr = 0.2;  // so high that the loss rises at times
  config.schedule.kind = ScheduleKind::plateau;
  config.schedule.warmup = 0;
  config.train.steps = 24;
  config.train.log_every = 1;
  config.eval.every = 2;
  config.checkpoint.every = 5;
  TrainedToy whole(config, "whole");
  double best = INFINITY, expected = 0.2;
  std::ifstream metrics(whole.run.metrics());
  for (std::string line; std::getline(metrics, line);) {
    const auto fields = nlohmann::json::parse(line);
    if (fields.contains("lr")) CHECK(fields["lr"].get<double>() == expected);
    if (!fields.contains("eval_loss")) continue;
    const double loss = fields["eval_loss"];
    if (loss >= best) expected /= 2;
    best = std::min(best, loss);
  }
  CHECK(whole.state.num_bad_epochs >= 2);
  CHECK(expected == std::ldexp(0.2, static_cast<int>(-whole.state.num_bad_epochs)));

  TrainingState state;
  std::int64_t stop = 0;
  TrainedToy cut(config, "cut", {.stop_requested = [&] { return ++stop == 15; }});
  REQUIRE(cut.state.step == 15);
  CHECK(cut.state.num_bad_epochs > 0);
  Toy resumed(config);
  state = load_checkpoint(cut.run, 15, resumed.model, resumed.optimizer);
  train(resumed.objective, resumed.slab, resumed.optimizer, resumed.resolved, cut.run, state, {});
  CHECK(same_bits(resumed.weights(), whole.toy.weights()));
}

TEST_CASE("train: what it does is told, and how long pieces of that take") {
  TrainingPace pace;
  CHECK(pace.now().piece.empty());
  CHECK_FALSE(pace.now().seconds_left.has_value());
  pace.begin("micro-step");
  CHECK(pace.now().piece == "micro-step");
  CHECK_FALSE(pace.now().seconds_left.has_value());
  pace.begin("micro-step");
  CHECK(pace.now().seconds_left.has_value());
  CHECK(*pace.now().seconds_left >= 0);
  pace.begin("evaluation");
  CHECK_FALSE(pace.now().seconds_left.has_value());

  Config config = toy_config();
  config.train.accumulate = 2;
  std::vector<std::string> told;
  TrainingPace own;
  const TrainHooks hooks{.evaluating =
                             [&] {
                               told.push_back(own.now().piece);
                               return ProgressCallback();
                             },
                         .stop_requested =
                             [&] {
                               told.push_back(own.now().piece);
                               return false;
                             },
                         .pace = &own};
  const TrainedToy run(config, "run", hooks);
  CHECK(std::ranges::count(told, "micro-step") == 2 * 6);
  CHECK(std::ranges::count(told, "evaluation") == 1);
}
