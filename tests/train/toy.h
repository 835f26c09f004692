// Everything that trains, made from a tiny configuration: what several tests of training share.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tape/tape.h"
#include "autograd/tensor/allocator.h"
#include "data/synthetic/corpora.h"
#include "tasks/bidirectional_language_model/bidirectional_objective.h"
#include "tasks/common/models.h"
#include "tasks/instructions/instruction_objective.h"
#include "tasks/labels/fine_tuning_objective.h"
#include "tasks/language_model/language_objective.h"
#include "tasks/masked_language_model/masked_objective.h"
#include "tasks/skip_gram/skip_gram_objective.h"
#include "tasks/translation/translation_objective.h"
#include "tests/temp_folder.h"
#include "tests/train/toy_configs.h"
#include "train/config/config.h"
#include "train/distributed/make_optimizer.h"
#include "train/loop/trainer.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// A temporary folder that is the cache for token files as well, while it lives.
struct CacheFolder : TempFolder {
  CacheFolder() { ::setenv("TAPEFORMER_CACHE", (path / "cache").c_str(), 1); }
  ~CacheFolder() { ::unsetenv("TAPEFORMER_CACHE"); }
};

// A model of any task on its data, with initial weights and an optimizer.
struct AnyToy {
  explicit AnyToy(const Config& with) : config(with) {
    model.initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  }

  Config config;
  ResolvedConfig resolved = resolve(config);
  const std::unique_ptr<Objective> owned_objective = make_objective(resolved);
  Objective& objective = *owned_objective;
  const Module& model = objective.model();
  ParameterSlab slab{model, objective.rates()};
  const std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolved, slab);
  Optimizer& optimizer = *owned_optimizer;

  StepResult step(std::int64_t number) {
    return train_step(objective, slab, optimizer, resolved, number, learning_rate(schedule_spec(resolved), number));
  }
  void steps(std::int64_t first, std::int64_t last) {
    for (std::int64_t number = first; number <= last; ++number) step(number);
  }
  std::vector<float> weights() const { return slab.values().to_vector<float>(); }
};

// The same of a task that is known, so that its model and its data can be looked at.
template <class ObjectiveType>
struct ToyOf : AnyToy {
  explicit ToyOf(const Config& config = toy_config()) : AnyToy(config) {}

  ObjectiveType& objective = dynamic_cast<ObjectiveType&>(*owned_objective);
  decltype(std::declval<const ObjectiveType&>().data()) data = objective.data();
  decltype(std::declval<const ObjectiveType&>().model()) model = objective.model();
};
using Toy = ToyOf<LanguageObjective>;
using EncoderToy = ToyOf<BidirectionalObjective>;
using MaskedToy = ToyOf<MaskedObjective>;
using SkipGramToy = ToyOf<SkipGramObjective>;
using TranslationToy = ToyOf<TranslationObjective>;
using TaskToy = ToyOf<FineTuningObjective>;
using InstructionToy = ToyOf<InstructionObjective>;

// Trains in a new run folder, and returns what was trained. With `cut`, training stops after that step, and resumes
// from its checkpoint with new objects.
template <class AToy = AnyToy>
std::unique_ptr<AToy> trained(const Config& config, const std::filesystem::path& folder, std::int64_t cut = 0) {
  const RunFolder run{folder};
  TrainingState state;
  auto toy = std::make_unique<AToy>(config);
  const auto go_on = [&](const TrainHooks& hooks) {
    train(toy->objective, toy->slab, toy->optimizer, toy->resolved, run, state, hooks);
  };
  create_run(run.root, to_toml(toy->resolved), toy->objective.facts().tokenizers);
  if (cut) {
    go_on({.stop_requested = [&] { return state.step == cut; }});
    REQUIRE(state.step == cut);
    toy = std::make_unique<AToy>(config);
    state = load_checkpoint(run, cut, toy->model, toy->optimizer);
  }
  go_on({});
  return toy;
}

// The values of all tensors, one tensor behind the other.
inline std::vector<float> values_of(const NamedTensors& tensors) {
  std::vector<float> all;
  for (const auto& entry : tensors) {
    const std::vector<float> values = entry.second.to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// The Euclidean norm of a − b.
inline double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(squares);
}

// Checks that steps of `rows` rows have the same losses, gradients and recurrent states with each of these numbers of
// micro-steps, of which the first is 1. The gradients may differ by `tolerance` of their norm. Weights do not change.
void check_accumulation(Config config, std::int64_t rows, std::initializer_list<std::int64_t> micro_steps,
                        std::int64_t steps, double tolerance);

}  // namespace tapeformer
