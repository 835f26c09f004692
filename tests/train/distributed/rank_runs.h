// Runs of the toy by several ranks, here threads of one process.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/largest_difference.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/run/checkpoint_store.h"

namespace tapeformer {

// Gradients that are zero but for rounding stay below eps: Adam would take their signs for steps.
inline Config parallel_config(std::int64_t micro_steps) {
  Config config = toy_config();
  config.train.accumulate = micro_steps;
  config.optimizer.options["eps"] = 1e-6;
  config.optimizer.clip = 0.5;
  return config;
}

// The state of all ranks' optimizers by name, each element once.
inline std::map<std::string, std::vector<float>> whole_state(const std::vector<NamedTensors>& shares) {
  std::map<std::string, std::vector<float>> state;
  for (const NamedTensors& share : shares) {
    for (const auto& [name, values] : share) {
      const std::size_t at = name.rfind('@');
      auto& whole = state[name.substr(0, at)];
      const std::vector<float> part = values.to_vector<float>();
      const std::size_t begin = at == name.npos ? 0 : std::stoul(name.substr(at + 1));
      whole.resize(std::max(whole.size(), begin + part.size()));
      std::ranges::copy(part, whole.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }
  return state;
}

// A run of the toy by ranks, in a folder of its own.
struct ParallelRun {
  ParallelRun(const Config& config, RunFolder run) : config(config), run(std::move(run)) {}

  // Trains up to `steps`, from a checkpoint if there is one, and keeps weights and state.
  void train(int ranks, std::int64_t steps) {
    Config whole = config;
    whole.train.steps = steps;
    states.assign(ranks, {});
    run_ranks(ranks, [&](Communicator& own) {
      Toy toy(whole);
      toy.objective.share_with(own);
      const auto optimizer = make_optimizer(toy.resolved, toy.slab, own);
      TrainingState state;
      if (const auto newest = newest_valid_checkpoint(run); newest.step) {
        state = load_checkpoint(run, *newest.step, toy.model, *optimizer, own);
      }
      own.barrier();
      tapeformer::train(toy.objective, toy.slab, *optimizer, toy.resolved, run, state, {});
      for (const auto& [name, values] : optimizer->state()) states[own.rank()].emplace_back(name, values.clone());
      if (own.is_root()) weights = toy.weights();
    });
  }

  Config config;
  RunFolder run;
  std::vector<float> weights;
  std::vector<NamedTensors> states;
};

inline Config run_config(std::int64_t micro_steps) {
  Config config = parallel_config(micro_steps);
  config.model.options["dropout"] = 0.1;
  config.checkpoint.every = 4;
  config.eval.every = 4;
  return config;
}

inline ParallelRun parallel_run(const TempFolder& folder, const std::string& name, const Config& config) {
  const Toy toy(config);
  return {config, create_run(folder.path / name, to_toml(resolve(config)), toy.objective.facts().tokenizers)};
}

}  // namespace tapeformer
