#include "tasks/multi_task/multi_task_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json.h"
#include "nn/interfaces/multi_task_model.h"
#include "tasks/common/models.h"
#include "tasks/labels/label_task_row.h"
#include "tasks/text/dummy_data.h"
#include "tasks/text/text_task.h"

namespace tapeformer {
namespace {

TaskData of_text(const SharedTask& task, LanguageData data) {
  const double rows = static_cast<double>(data.train.size()) / static_cast<double>(task.config.block_size());
  return {task, text_objective_data(std::move(data)), {}, rows};
}

TaskData of_labels(const SharedTask& task, LabelledData data) {
  const auto rows = static_cast<double>(data.train.size());
  std::vector<std::string> labels = data.labels;
  return {task, labelled_objective_data(std::move(data)), std::move(labels), rows};
}

struct MultiTaskObjectiveData : ObjectiveDataOf<MultiTaskData> {
  using ObjectiveDataOf::ObjectiveDataOf;

  ModelVocabulary vocabulary(const ResolvedConfig& config) const override {
    return data.tasks.front().data->vocabulary(config);
  }

  // Returns means over the tasks, weighted by the probabilities with which steps draw them. The operations for each
  // token are weighted by the tokens that each task reads.
  TrainingShape shape(const ResolvedConfig& config) const override {
    const std::vector<double> probabilities = data.probabilities();
    auto model = std::make_unique<MultiTaskModel>(make_model_with_heads(config, vocabulary(config)));
    std::vector<ModelPart> parts = find_task_row(config.family().task).heads.parts;
    const bool all_have_labels =
        std::ranges::all_of(data.tasks, [](const TaskData& task) { return task.task.has_labels(); });
    ParameterRates rates;  // of the trunk, which a task of text trains as a whole
    double block_size = 0;
    std::vector<std::pair<double, std::function<double(const ForwardFlops&)>>> flops;
    for (std::size_t i = 0; i < data.tasks.size(); ++i) {
      const TaskData& task = data.tasks[i];
      const std::string& name = task.task.name;
      if (task.task.has_labels()) {
        auto classifier = make_encoder_for_classification(task.task.config, model->trunk(), std::ssize(task.labels));
        if (all_have_labels && !rates) rates = classifier->rates(config.task.layer_decay);
        model->add(name, std::move(classifier));
        parts.push_back({"task." + name, "classifier of " + name, {str_cat(kClassifierTensors, name, ".")}});
      }
      TrainingShape shape = task.data->shape(task.task.config);
      block_size += probabilities[i] * shape.block_size;
      flops.emplace_back(probabilities[i] * shape.block_size, std::move(shape.flops));
    }
    return {.model = std::move(model),
            .rates = std::move(rates),
            .parts = std::move(parts),
            .block_size = block_size,
            .flops = [flops = std::move(flops), block_size](const ForwardFlops& forward) {
              double sum = 0;
              for (const auto& [tokens, of_token] : flops) sum += tokens / block_size * of_token(forward);
              return sum;
            }};
  }
};

// Learns a tokenizer from the examples of all tasks.
std::string learn_together(const ResolvedConfig& config, const std::vector<LabelledData>& all,
                           const ProgressMaker& progress) {
  std::vector<LabelledExample> examples;
  for (const LabelledData& data : all)
    std::ranges::move(examples_for_tokenizer(config, data), std::back_inserter(examples));
  return learn_tokenizer(config, examples, progress)->to_json();
}

std::unique_ptr<Tokenizer> copy_of(const std::string& tokenizer) {
  return tokenizer.empty() ? nullptr : Tokenizer::from_json(tokenizer, "the tokenizer of the tasks");
}

KnownVocabulary known_of(const SharedTask& task, const std::string& tokenizer, const RunFolder* run) {
  KnownVocabulary known{.tokenizer = copy_of(tokenizer)};
  if (run) known.labels = read_labels(run->labels(), task.name), known.run = run->root.string();
  return known;
}

}  // namespace

std::vector<double> MultiTaskData::probabilities() const {
  std::vector<double> all;
  for (const TaskData& task : tasks) all.push_back(std::pow(task.rows, sampling_alpha));
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  for (double& probability : all) probability /= sum;
  return all;
}

std::string MultiTaskData::labels_json() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const TaskData& task : tasks) {
    if (!task.labels.empty()) json[task.task.name] = task.labels;
  }
  return json.empty() ? "" : dump_json(json) + "\n";
}

std::unique_ptr<ObjectiveData> prepare_tasks(const ResolvedConfig& config, const RunFolder* resumed,
                                             const ProgressMaker& progress) {
  const std::vector<SharedTask> shared = shared_tasks(config);
  const std::unique_ptr<Tokenizer> known = known_tokenizer(config, resumed);
  MultiTaskData data{
      .tokenizer = known ? known->to_json() : "", .tasks = {}, .sampling_alpha = config.task.sampling_alpha};
  std::vector<LanguageData> texts;
  for (const SharedTask& task : shared) {
    if (task.has_labels()) continue;
    texts.push_back(prepare_language_data(task.config, copy_of(data.tokenizer), progress));
    if (data.tokenizer.empty()) data.tokenizer = texts.front().tokenizer->to_json();
  }
  std::vector<LabelledData> labelled;
  for (const SharedTask& task : shared) {
    if (task.has_labels()) labelled.push_back(read_labelled_data(task.config, known_of(task, data.tokenizer, resumed)));
  }
  if (data.tokenizer.empty()) data.tokenizer = learn_together(shared.front().config, labelled, progress);
  auto text = texts.begin();
  auto examples = labelled.begin();
  for (const SharedTask& task : shared) {
    if (task.has_labels()) {
      examples->tokenizer = copy_of(data.tokenizer);
      data.tasks.push_back(of_labels(task, std::move(*examples++)));
    } else {
      data.tasks.push_back(of_text(task, std::move(*text++)));
    }
  }
  return std::make_unique<MultiTaskObjectiveData>(std::move(data));
}

std::unique_ptr<ObjectiveData> dummy_tasks(const ResolvedConfig& config, const RunFolder* run) {
  const std::vector<SharedTask> shared = shared_tasks(config);
  MultiTaskData data{.tokenizer = dummy_text_tokenizer(shared.front().config, run)->to_json(),
                     .tasks = {},
                     .sampling_alpha = config.task.sampling_alpha};
  for (const SharedTask& task : shared) {
    data.tasks.push_back(task.has_labels()
                             ? of_labels(task, dummy_examples(task.config, known_of(task, data.tokenizer, run)))
                             : of_text(task, dummy_tokens(task.config, copy_of(data.tokenizer))));
  }
  return std::make_unique<MultiTaskObjectiveData>(std::move(data));
}

}  // namespace tapeformer
