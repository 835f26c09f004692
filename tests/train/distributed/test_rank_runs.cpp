// Runs by several ranks that end early, go on, are averaged and are stopped.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/long_test.h"
#include "tests/train/distributed/rank_runs.h"
#include "train/config/matmul_config.h"
#include "train/run/metrics.h"

using namespace tapeformer;

TEST_CASE("ranks: a run by Muon goes on with its bits, and with another number of ranks" * long_test()) {
  const CacheFolder folder;
  Config config = run_config(4);
  config.optimizer.name = "muon";
  config.optimizer.options = {};
  const auto run = [&](const std::string& name, int before, int after) {
    ParallelRun made = parallel_run(folder, name, config);
    if (before > 0) made.train(before, 4);
    made.train(after, 8);
    return made;
  };
  for (const int ranks : {1, 3}) {
    CAPTURE(ranks);
    const ParallelRun whole = run(str_cat("whole", ranks), 0, ranks), cut = run(str_cat("cut", ranks), ranks, ranks);
    CHECK(cut.weights == whole.weights);
    CHECK(whole_state(cut.states) == whole_state(whole.states));
    const auto state = whole_state(whole.states);
    CHECK(state.contains("momentum.blocks.0.attention.qkv.weight"));
    CHECK(state.contains("v.token_embedding.weight"));
    CHECK_FALSE(state.contains("m.blocks.0.attention.qkv.weight"));
    // What other ranks read from the checkpoint is what was saved.
    ParallelRun other = parallel_run(folder, str_cat("other", ranks), config);
    other.train(ranks, 4);
    const auto saved = whole_state(other.states);
    other.train(4 - ranks, 4);
    CHECK(whole_state(other.states) == saved);
  }
  config.train.sync_every = 2;
  const ParallelRun whole = run("whole", 0, 2), cut = run("cut", 2, 2);
  CHECK(cut.weights == whole.weights);
}

TEST_CASE("ranks: each keeps its share of the moments, all together what one process has") {
  const CacheFolder folder;
  Config config = toy_config();
  config.train.accumulate = 4;
  Toy alone(config);
  for (std::int64_t step = 1; step <= 3; ++step) alone.step(step);
  std::int64_t all = 0;
  for (const auto& [name, values] : alone.optimizer.state()) all += values.numel();
  std::vector<NamedTensors> states(4);
  run_ranks(4, [&](Communicator& ranks) {
    Toy toy(config);
    toy.objective.share_with(ranks);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
    for (std::int64_t step = 1; step <= 3; ++step) {
      train_step(toy.objective, toy.slab, *optimizer, toy.resolved, step,
                 learning_rate(schedule_spec(toy.resolved), step));
    }
    for (const auto& [name, values] : optimizer->state()) states[ranks.rank()].emplace_back(name, values.clone());
  });
  const auto expected = whole_state({alone.optimizer.state()}), found = whole_state(states);
  CHECK(found.size() == expected.size());
  for (const auto& [name, values] : expected) CHECK(largest_difference(found.at(name), values) < 1e-6);
  for (const NamedTensors& state : states) {
    std::int64_t own = 0;
    for (const auto& [name, values] : state) own += values.numel();
    CHECK(own <= all / 4 + 64);
    CHECK(own >= all / 4 - 64 * 8);
  }
}

TEST_CASE("ranks: a run that ended early goes on with the bits of one that did not, and with another number of ranks" *
          long_test()) {
  const CacheFolder folder;
  const Config config = run_config(4);
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(3, 8);
  cut.train(3, 4);
  CHECK(std::filesystem::exists(cut.run.checkpoint(4) / "optimizer-00003-of-00003.safetensors"));
  cut.train(3, 8);
  CHECK(cut.weights == whole.weights);
  CHECK(whole_state(cut.states) == whole_state(whole.states));
  for (const int ranks : {1, 2}) {
    CAPTURE(ranks);
    ParallelRun other = parallel_run(folder, str_cat("other", ranks), config);
    other.train(3, 4);
    other.train(ranks, 8);
    CHECK(largest_difference(other.weights, whole.weights) < 1e-5);
    ParallelRun back = parallel_run(folder, str_cat("back", ranks), config);
    back.train(ranks, 4);
    back.train(3, 8);
    CHECK(largest_difference(back.weights, whole.weights) < 1e-5);
  }
}

TEST_CASE("ranks: they share the evaluation of the average, and have the weights of the last step again") {
  const CacheFolder folder;
  Config config = run_config(4);
  ParallelRun without = parallel_run(folder, "without", config);
  without.train(3, 8);
  for (const bool moving : {false, true}) {
    CAPTURE(moving);
    config.train.ema = moving ? 0.75 : 0;
    config.checkpoint.average = moving ? 0 : 2;
    ParallelRun averaged = parallel_run(folder, moving ? "moving" : "averaged", config);
    averaged.train(3, 8);
    CHECK(averaged.weights == without.weights);
    const auto line = read_metrics(averaged.run.metrics()).back();
    REQUIRE(line.contains("averaged"));
    Toy alone(config);
    load_weights(averaged.run, averaged.run.average(), alone.model);
    const kernels::MatmulPrecisionScope precision(matmul_precision(alone.resolved));  // of the training
    CHECK(line["average_loss"].get<double>() == doctest::Approx(alone.objective.evaluate({}).loss()).epsilon(1e-6));
  }
}

TEST_CASE("ranks: the moving average is that of one process, and goes on with another number of ranks") {
  const CacheFolder folder;
  for (const std::string optimizer : {"adamw", "muon"}) {
    CAPTURE(optimizer);
    Config config = run_config(4);
    config.train.ema = 0.75;
    config.train.matmul = MatmulSetting::highest;
    config.optimizer.name = optimizer;
    ParallelRun whole = parallel_run(folder, optimizer + "-1", config);
    whole.train(1, 8);
    ParallelRun several = parallel_run(folder, optimizer + "-3", config);
    several.train(3, 8);
    ParallelRun changed = parallel_run(folder, optimizer + "-changed", config);
    changed.train(2, 4);
    changed.train(3, 8);
    const auto expected = read_safetensors(whole.run.average() / "model.safetensors");
    for (const RunFolder& run : {several.run, changed.run}) {
      const auto average = read_safetensors(run.average() / "model.safetensors");
      REQUIRE(average.size() == expected.size());
      for (const auto& entry : average) {
        const std::string& name = entry.first;
        CAPTURE(name);
        CHECK(largest_difference(entry.second.to_vector<float>(), expected.at(name).to_vector<float>()) < 1e-5);
      }
    }
  }
}

TEST_CASE(
    "ranks: a stop that one of them is asked for gives up the step of all, and the run goes on to the same bytes") {
  const CacheFolder folder;
  const Config config = run_config(4);
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(2, 4);
  cut.train(2, 2);
  run_ranks(2, [&](Communicator& own) {
    Config longer = config;
    longer.train.steps = 4;
    Toy toy(longer);
    toy.objective.share_with(own);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, own);
    TrainingState state = load_checkpoint(cut.run, 2, toy.model, *optimizer, own);
    own.barrier();
    // Asked first between the two micro-steps of each rank.
    const TrainHooks hooks{.stop_requested = [&] { return own.rank() == 1; }};
    CHECK(tapeformer::train(toy.objective, toy.slab, *optimizer, toy.resolved, cut.run, state, hooks) ==
          TrainEnd::stopped);
    CHECK(state.step == 2);
  });
  CHECK(latest_step(cut.run) == 2);
  cut.train(2, 4);
  CHECK(cut.weights == whole.weights);
}

TEST_CASE("ranks: they have the BLEU of one process") {
  const CacheFolder folder;
  TranslationToy alone(translation_config());
  const std::optional<double> bleu = alone.objective.bleu();
  run_ranks(3, [&](Communicator& ranks) {
    TranslationToy toy(translation_config());
    toy.objective.share_with(ranks);
    CHECK(toy.objective.bleu() == bleu);
  });
}
