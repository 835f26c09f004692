#include "tasks/multi_task/multi_task_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/hash.h"
#include "core/random.h"
#include "tasks/common/models.h"
#include "tokenizer/tokenizer.h"
#include "train/config/rules.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kTaskStream = mix64(0x7461736b);  // "task"

// Hashes the hashes of the tasks' data; 0 if all are 0.
std::uint64_t hash_of(const std::vector<std::uint64_t>& parts) {
  if (std::ranges::count(parts, 0) == std::ssize(parts)) return 0;
  Hasher hasher;
  for (const std::uint64_t part : parts) hasher.update(part);
  return hasher.digest();
}

// The model that the tasks train.
SharedModel shared_model(const ResolvedConfig& config, const MultiTaskData& data) {
  const ModelVocabulary vocabulary = data.tasks.front().data->vocabulary(config);
  const TaskRow& row = find_task_row(config.family().task);
  if (row.make_shared) return row.make_shared(config, vocabulary);
  return {make_model_with_heads(config, vocabulary), {}};
}

}  // namespace

MultiTaskObjective::MultiTaskObjective(const ResolvedConfig& config, MultiTaskData data)
    : Objective(config),
      tokenizer_(data.tokenizer),
      labels_(data.labels_json()),
      shared_(shared_model(config, data)),
      model_(shared_.model),
      counts_(data.tasks.size()) {
  const std::vector<double> probabilities = data.probabilities();
  for (std::size_t i = 0; i < data.tasks.size(); ++i) {
    TaskData& part = data.tasks[i];
    const ResolvedConfig& alone = part.task.config;
    const TaskRow& row = alone.task_row();
    SharedObjective made = part.task.has_labels() ? row.make_on(alone, std::move(part.data), shared_.model)
                                                  : SharedObjective{shared_.objective(alone, std::move(part.data)), {}};
    const std::shared_ptr<Objective> objective = std::move(made.objective);
    if (made.classifier) {
      model_.add(part.task.name, std::shared_ptr<const EncoderForClassification>(objective, made.classifier));
    }
    add_part(objective);
    tasks_.push_back({part.task.name, row.name, part.task.weight, probabilities[i], part.rows, objective,
                      made.classifier, part.task.metrics()});
  }
  for (const Task& task : tasks_) {
    const ValidationFacts facts = task.objective->validation();
    const bool chooses = std::ranges::count(task.metrics, config.metric_for_best_model()) > 0;
    require(!chooses || facts.missing.empty() || !can_evaluate(),
            "task.metric_for_best_model: expected a metric of a task that is evaluated, got ",
            config.metric_for_best_model(), " (", facts.missing, ")");
  }
}

MultiTaskObjective::Draw MultiTaskObjective::draw(std::int64_t step) {
  while (std::ssize(draws_) < step) {
    RandomStream random({.seed = static_cast<std::uint64_t>(config_.train.seed),
                         .step = static_cast<std::uint32_t>(draws_.size() + 1),
                         .stream = kTaskStream});
    double left = random.uniform();
    std::size_t task = 0;
    while (task + 1 < tasks_.size() && left >= tasks_[task].probability) left -= tasks_[task++].probability;
    draws_.push_back({task, ++counts_[task]});
  }
  return draws_[step - 1];
}

ParameterRates MultiTaskObjective::layer_rates() const {
  const bool all_have_labels = std::ranges::all_of(tasks_, [](const Task& task) { return task.classifier != nullptr; });
  return all_have_labels ? tasks_.front().classifier->rates(config_.task.layer_decay) : ParameterRates();
}

DataFacts MultiTaskObjective::facts() const {
  const auto tokenizer = Tokenizer::from_json(tokenizer_, "the tokenizer of the tasks");
  DataFacts facts{.tokenizers = {tokenizer_, "", labels_},
                  .description = {str_cat(parameters_text(), ", vocabulary of ", tokenizer->vocab_size())}};
  std::vector<std::uint64_t> hashes, valid_hashes;
  for (const Task& task : tasks_) {
    DataFacts own = task.objective->facts();
    hashes.push_back(own.data_hash);
    valid_hashes.push_back(own.valid_hash);
    facts.description.push_back(fmt::format("{}: {}, {:.0f} examples or rows of text, {:.1f} % of the steps{}",
                                            task.name, task.kind, task.rows, 100 * task.probability,
                                            task.weight == 1 ? "" : fmt::format(", its loss times {:g}", task.weight)));
    std::ranges::move(own.warnings, std::back_inserter(facts.warnings));
  }
  facts.data_hash = hash_of(hashes);
  facts.valid_hash = hash_of(valid_hashes);
  return facts;
}

StepSize MultiTaskObjective::step_size(std::int64_t step, MicroSteps micro_steps) {
  const Draw drawn = draw(step);
  const Task& task = tasks_[drawn.task];
  StepSize size = task.objective->step_size(drawn.step, micro_steps);
  size.task = task.name;
  return size;
}

Variable MultiTaskObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  const Draw drawn = draw(step);
  const Task& task = tasks_[drawn.task];
  pass_on_to(drawn.task);
  MeanOver weighted = mean;
  weighted.weight = task.weight;
  return task.objective->micro_loss(tape, drawn.step, micro_step, weighted);
}

ValidationFacts MultiTaskObjective::validation() const {
  ValidationFacts facts;
  std::vector<std::string> missing;
  for (const Task& task : tasks_) {
    const ValidationFacts own = task.objective->validation();
    facts.tokens += own.tokens;
    facts.read += own.read > 0 ? own.read : own.tokens;
    if (!own.missing.empty()) missing.push_back(own.missing);
  }
  if (missing.size() == tasks_.size()) facts.missing = missing.front();
  return facts;
}

std::vector<MultiTaskObjective::TaskEvaluation> MultiTaskObjective::evaluate_tasks(const ProgressCallback& progress) {
  std::vector<Task*> able;
  for (Task& task : tasks_) {
    if (task.objective->can_evaluate()) able.push_back(&task);
  }
  std::vector<TaskEvaluation> all;
  for (Task* const task : able) {
    const auto done = static_cast<double>(all.size()), of = static_cast<double>(able.size());
    ProgressCallback own;
    if (progress) own = [&, done, of](double share) { progress((done + share) / of); };
    all.push_back({task->name, task->weight, task->objective->task().loss_unit, task->objective->evaluate(own)});
  }
  return all;
}

Evaluation MultiTaskObjective::total(std::span<const TaskEvaluation> tasks) const {
  Evaluation total{.metric_for_best_model = std::string(config_.metric_for_best_model())};
  double loss = 0, weights = 0;
  for (const TaskEvaluation& task : tasks) {
    total.tokens += task.evaluation.tokens;
    loss += task.weight * task.evaluation.loss();
    weights += task.weight;
    total.metrics.emplace_back(task.name + "_loss", task.evaluation.loss());
    for (const auto& [name, value] : task.evaluation.metrics)
      total.metrics.emplace_back(str_cat(task.name, "_", name), value);
  }
  total.nats = static_cast<double>(total.tokens) * loss / weights;
  return total;
}

Evaluation MultiTaskObjective::evaluate(const ProgressCallback& progress) { return total(evaluate_tasks(progress)); }

}  // namespace tapeformer
