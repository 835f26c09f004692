// Small things that several tests of training share.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/tape/tape.h"
#include "autograd/tensor/allocator.h"
#include "data/synthetic/corpora.h"
#include "tasks/bidirectional_language_model/encoder_objective.h"
#include "tasks/common/models.h"
#include "tasks/language_model/language_objective.h"
#include "tasks/masked_language_model/masked_objective.h"
#include "tasks/skip_gram/skip_gram_objective.h"
#include "tasks/translation/translation_objective.h"
#include "tests/temp_folder.h"
#include "train/config/config.h"
#include "train/distributed/optim_config.h"
#include "train/loop/trainer.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// A temporary folder that is the cache for token files as well, while it lives.
struct CacheFolder : TempFolder {
  CacheFolder() { ::setenv("TAPEFORMER_CACHE", (path / "cache").c_str(), 1); }
  ~CacheFolder() { ::unsetenv("TAPEFORMER_CACHE"); }
};

// A tiny model on a few lines of stories, a character a token.
inline Config toy_config() {
  Config config;
  config.model.options["layers"] = 2;
  config.model.options["heads"] = 2;
  config.model.options["dim"] = 16;
  config.model.options["context"] = 16;
  config.tokenizer.kind = TokenizerKind::character;
  config.data.corpus = "stories";
  config.data.lines = 20;
  config.schedule.warmup = 2;
  config.train.steps = 6;
  config.train.batch = 4;
  return config;
}

// A tiny model of another family on the same lines.
inline Config toy_config_of(const std::string& type, decltype(Config::Model::options) options) {
  Config config = toy_config();
  config.model.type = type;
  config.model.options = std::move(options);
  config.train.steps = 20;
  return config;
}

// A tiny model that reverses words, a character a token: 36 pairs to train on, 4 for validation.
inline Config translation_config() {
  Config config = toy_config();
  config.model.type = "transformer";
  config.model.options["layers"] = 1;
  config.data.corpus = "reverse";
  config.data.lines = 40;
  config.train.batch = 8;
  config.eval.bleu_every = 0;
  return config;
}

template <class Objective>
auto prepare_data(const ResolvedConfig& config) {
  if constexpr (std::is_same_v<Objective, TranslationObjective>) {
    return prepare_translation_data(config);
  } else {
    return prepare_language_data(config);
  }
}

// Everything that trains, made from a configuration.
template <class Objective>
struct ToyOf {
  explicit ToyOf(const Config& with) : config(with) {
    model.initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  }
  ToyOf() : ToyOf(toy_config()) {}

  Config config;
  ResolvedConfig resolved = resolve(config);
  Objective objective{resolved, prepare_data<Objective>(resolved)};
  decltype(std::declval<const Objective&>().data()) data = objective.data();
  decltype(std::declval<const Objective&>().model()) model = objective.model();
  ParameterSlab slab{model, objective.rates()};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolved, slab);
  Optimizer& optimizer = *owned_optimizer;

  StepResult step(std::int64_t number) {
    return train_step(objective, slab, optimizer, resolved, number, learning_rate(schedule_spec(resolved), number));
  }
  std::vector<float> weights() const { return slab.values().to_vector<float>(); }
};
using Toy = ToyOf<LanguageObjective>;
using EncoderToy = ToyOf<EncoderObjective>;
using MaskedToy = ToyOf<MaskedObjective>;
using SkipGramToy = ToyOf<SkipGramObjective>;
using TranslationToy = ToyOf<TranslationObjective>;

// Trains in a new run folder, and returns what was trained. With `cut`, training stops after that step, and resumes
// from its checkpoint with new objects.
template <class AnyToy>
std::unique_ptr<AnyToy> trained(const Config& config, const std::filesystem::path& folder, std::int64_t cut = 0) {
  const RunFolder run{folder};
  TrainingState state;
  const auto go_on = [&](const TrainHooks& hooks) {
    auto toy = std::make_unique<AnyToy>(config);
    if (state.step > 0) state = load_checkpoint(run, state.step, toy->model, toy->optimizer);
    train(toy->objective, toy->slab, toy->optimizer, toy->resolved, run, state, hooks);
    return toy;
  };
  AnyToy first(config);
  create_run(run.root, to_toml(first.resolved), first.objective.facts().tokenizers);
  if (cut) {
    go_on({.stop_requested = [&] { return state.step == cut; }});
    REQUIRE(state.step == cut);
  }
  return go_on({});
}

// The Euclidean norm of a − b.
inline double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(squares);
}

// Steps after the second one ask the system for no memory, and leave none in use.
template <class Objective>
void check_steady_memory(ToyOf<Objective>& toy) {
  toy.step(1), toy.step(2);
  const MemoryStats first = memory_stats();
  for (std::int64_t step = 3; step <= 12; ++step) {
    toy.step(step);
    CHECK(memory_stats().system_requests == first.system_requests);
    CHECK(memory_stats().in_use == first.in_use);
  }
}

}  // namespace tapeformer
