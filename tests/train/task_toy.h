// A model that is fine-tuned on labels.
#pragma once

#include "tasks/labels/task_objective.h"
#include "tests/train/toy.h"

namespace tapeformer {

// Everything that fine-tunes, made from a configuration.
struct TaskToy {
  explicit TaskToy(const Config& config) : resolved(resolve(config)) {
    model.initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  }
  StepResult step(std::int64_t number) {
    return train_step(objective, slab, optimizer, resolved, number, learning_rate(schedule_spec(resolved), number));
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const NamedParameter& parameter : objective.model().named_parameters()) {
      const std::vector<float> values = parameter.variable.value().to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  ResolvedConfig resolved;
  TaskObjective objective{resolved, prepare_task_data(resolved)};
  decltype(std::declval<TaskObjective&>().model()) model = objective.model();
  ParameterSlab slab{model, objective.rates()};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolved, slab);
  Optimizer& optimizer = *owned_optimizer;
};

inline double measure(const Evaluation& evaluation, std::string_view name) {
  for (const auto& [known, value] : evaluation.measures) {
    if (known == name) return value;
  }
  return -1;
}

}  // namespace tapeformer
