// Runs whose validation losses and BLEU a test prescribes.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "autograd/ops/ops.h"
#include "tests/temp_folder.h"
#include "train/distributed/make_optimizer.h"
#include "train/loop/trainer.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/metrics.h"

namespace tapeformer {

using Json = nlohmann::ordered_json;
using Steps = std::vector<std::int64_t>;

// Some weights that shrink, and whatever validation losses and BLEU a test wants after each step.
struct ScriptedObjective : Objective {
  struct Weights : Module {
    Variable w = register_parameter("w", {3}, DType::f32, Init::normal(1));
    Variable v = register_parameter("v", {2, 2}, DType::f32, Init::normal(1), ParameterKind::matrix);
  } module;
  std::function<double(std::int64_t step)> loss = [](std::int64_t step) { return 1.0 / static_cast<double>(step); };
  std::function<double()> loss_of_weights;  // in place of the other, where it is set
  std::int64_t step = 0;

  ScriptedObjective() : Objective(resolve(Config())) {}
  const Module& model() const override { return module; }
  DataFacts facts() const override { return {}; }
  StepSize step_size(std::int64_t, MicroSteps) override { return {1, 1}; }
  Variable micro_loss(Tape& tape, std::int64_t number, std::int64_t, const MeanOver&) override {
    step = number;
    const Variable w = module.w.on(tape), v = module.v.on(tape);
    return add(sum(mul(w, w)), sum(mul(v, v)));
  }
  ValidationFacts validation() const override { return {.tokens = 1, .bytes = 1}; }
  Evaluation evaluate(const ProgressCallback&) override {
    return {.tokens = 1, .nats = loss_of_weights ? loss_of_weights() : loss(step)};
  }
  std::optional<double> bleu() override { return 10.0 + static_cast<double>(step); }
  std::function<void()> before_samples = [] {};
  std::vector<TextSample> samples(const std::function<bool()>&) override {
    before_samples();
    return {{"a", "b"}};
  }
};

inline Config short_config() {
  Config config;
  config.train.steps = 20, config.train.log_every = 1;
  config.optimizer.lr = 1e-3;
  config.schedule.kind = ScheduleKind::inverse_sqrt, config.schedule.warmup = 1;
  config.eval.every = 2, config.eval.bleu_every = 0;
  config.checkpoint.every = 5, config.checkpoint.keep = 0;
  return config;
}

// A short_config() of a model whose translations have BLEU.
inline Config bleu_config(std::int64_t bleu_every) {
  Config config = short_config();
  config.model.type = "transformer";
  config.eval.bleu_every = bleu_every;
  return config;
}

// A run, begun or gone on with by each call of train().
struct ScriptedRun {
  explicit ScriptedRun(const Config& with = short_config()) : config(with) {
    objective.module.initialize_parameters(1);
  }
  TrainEnd train(const TrainHooks& hooks = {}) {
    return tapeformer::train(objective, slab, optimizer, resolve(config), run, state, hooks);
  }
  // What each evaluation wrote of a key: nothing where it did not.
  std::map<std::int64_t, Json> evaluations(const char* key) const {
    std::map<std::int64_t, Json> values;
    for (const Json& line : read_metrics(run.metrics())) {
      if (line.contains(key)) CHECK(values.emplace(line["step"].get<std::int64_t>(), line[key]).second);
    }
    return values;
  }

  TempFolder folder;
  Config config;
  ScriptedObjective objective;
  ParameterSlab slab{objective.module};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolve(config), slab);
  Optimizer& optimizer = *owned_optimizer;
  RunFolder run = create_run(folder.path / "run", to_toml(resolve(config)), {"{}", ""});
  TrainingState state;
};

inline Steps steps_of(const std::map<std::int64_t, Json>& values) {
  Steps steps;
  for (const auto& [step, value] : values) steps.push_back(step);
  return steps;
}

}  // namespace tapeformer
