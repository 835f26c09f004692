// Ranks that make several steps of their own between shared ones (train.sync_every).
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "tests/train/distributed/rank_runs.h"

using namespace tapeformer;

namespace {

Config local_config(std::int64_t micro_steps, std::int64_t sync_every, double outer_lr, double outer_momentum) {
  Config config = parallel_config(micro_steps);
  config.train.sync_every = sync_every;
  config.train.outer_lr = outer_lr;
  config.train.outer_momentum = outer_momentum;
  config.eval.every = config.checkpoint.every = 0;
  return config;
}

// Calls f on two ranks, with a toy that they train together and another that each trains by itself. step(number) makes
// a step of both.
void train_beside(const Config& config, const std::function<void(Communicator& ranks, Toy& together, Toy& alone,
                                                                 const std::function<void(std::int64_t)>& step)>& f) {
  run_ranks(2, [&](Communicator& ranks) {
    Toy together(config), alone(config);
    together.objective.share_with(ranks);
    alone.objective.share_with(ranks);
    const auto optimizer = make_optimizer(together.resolved, together.slab, ranks);
    f(ranks, together, alone, [&](std::int64_t number) {
      train_step(together.objective, together.slab, *optimizer, together.resolved, number, 1e-3);
      train_step(alone.objective, alone.slab, alone.optimizer, alone.resolved, number, 1e-3);
    });
  });
}

}  // namespace

TEST_CASE("local steps: with every step shared and an outer rate of 1 they are averages of the ranks' own steps") {
  const CacheFolder folder;
  train_beside(local_config(4, 1, 1, 0), [](Communicator& ranks, Toy& toy, Toy& expected, const auto& make_step) {
    for (std::int64_t step = 1; step <= 5; ++step) {
      make_step(step);
      const std::vector<float> own = expected.weights();
      std::vector<double> sums(own.begin(), own.end());
      ranks.sum(sums);
      for (std::size_t i = 0; i < sums.size(); ++i)
        expected.slab.values().span<float>()[i] = static_cast<float>(sums[i] / 2);
      expected.slab.values().mark_changed();
    }
    CHECK(largest_difference(toy.weights(), expected.weights()) < 1e-6);
  });
}

TEST_CASE("local steps: three of them, then an outer step of Nesterov's momentum by the mean change") {
  const CacheFolder folder;
  train_beside(local_config(2, 3, 0.7, 0.9), [](Communicator& ranks, Toy& toy, Toy& expected, const auto& make_step) {
    std::vector<float> shared = expected.weights();
    std::vector<double> velocity(shared.size(), 0);
    for (std::int64_t step = 1; step <= 6; ++step) {
      make_step(step);
      if (step == 2) CHECK(toy.weights() == expected.weights());
      if (step % 3 != 0) continue;
      const std::vector<float> own = expected.weights();
      std::vector<double> change(own.size());
      for (std::size_t i = 0; i < own.size(); ++i) change[i] = (double{shared[i]} - own[i]) / 2;
      ranks.sum(change);
      for (std::size_t i = 0; i < own.size(); ++i) {
        velocity[i] = 0.9 * velocity[i] + change[i];
        shared[i] = static_cast<float>(shared[i] - 0.7 * (change[i] + 0.9 * velocity[i]));
        expected.slab.values().span<float>()[i] = shared[i];
      }
      expected.slab.values().mark_changed();
      CHECK(largest_difference(toy.weights(), shared) < 1e-6);
    }
  });
}

TEST_CASE("local steps: weights of one rank that are not finite are an error of all") {
  const CacheFolder folder;
  run_ranks(2, [&](Communicator& ranks) {
    const Toy toy(local_config(2, 2, 0.7, 0.9));
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
    std::ranges::fill(toy.slab.gradients().span<float>(), 0.0f);
    optimizer->step(1e-3, 1);
    if (ranks.rank() == 1) toy.slab.values().span<float>()[0] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS(optimizer->step(1e-3, 2),
                         "step 2: the mean change of the weights in the last 2 steps is not a finite number; a lower "
                         "optimizer.lr or train.outer_lr may help",
                         Error);
  });
}

TEST_CASE("local steps: a run that ended early goes on with the bits of one that did not") {
  const CacheFolder folder;
  Config config = run_config(4);
  config.train.sync_every = 2;
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(2, 8);
  cut.train(2, 4);
  cut.train(2, 8);
  CHECK(cut.weights == whole.weights);
  CHECK(whole.states[0].size() > whole.states[1].size() / 2);
  for (int rank = 0; rank < 2; ++rank) CHECK(whole_state({cut.states[rank]}) == whole_state({whole.states[rank]}));
}

TEST_CASE("local steps: a parameter's own rate counts once, not in the outer step too") {
  const CacheFolder folder;
  const auto moved = [](double rate) {
    Config config = toy_config();
    config.train.sync_every = 1;
    config.train.outer_lr = 1, config.train.outer_momentum = 0;
    Toy toy(config);
    const ParameterSlab slab(toy.model, [=](std::string_view name) { return name.starts_with("token") ? rate : 1.0; });
    const std::vector<float> before = slab.values().to_vector<float>();
    const auto optimizer = make_optimizer(toy.resolved, slab, Communicator::alone());
    train_step(toy.objective, slab, *optimizer, toy.resolved, 1, 1e-3);
    const auto embedding = static_cast<std::size_t>(slab.parts().front().size);
    REQUIRE(slab.parts().front().name.starts_with("token"));
    const std::vector<float> after = slab.values().to_vector<float>();
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(embedding));
    };
    return norm_of_difference(part(after), part(before));
  };
  CHECK(moved(1) > 1e-3);
  CHECK(moved(0.5) == doctest::Approx(0.5 * moved(1)).epsilon(1e-3));
}
