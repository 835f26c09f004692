#include "tasks/labels/trained_classifier.h"

#include "core/error.h"
#include "core/text/joined.h"
#include "nn/interfaces/multi_task_model.h"
#include "tasks/common/shared_tasks.h"
#include "tasks/labels/labelled_data.h"

namespace tapeformer {

namespace {

// Returns the task with labels that the source names, of a run of several tasks.
SharedTask task_with_labels(const RunSelection& source, const TrainedModel& trained) {
  const std::vector<SharedTask> tasks = shared_tasks(trained.config);
  std::vector<std::string> names;
  std::vector<const SharedTask*> meant;
  for (const SharedTask& task : tasks) {
    if (!task.has_labels()) continue;
    names.push_back(task.name);
    if (source.task.empty() || task.name == source.task) meant.push_back(&task);
  }
  if (meant.size() == 1) return *meant.front();
  check(!names.empty(), trained.run.root.string(), ": none of the run's tasks has labels");
  fail_usage("--task: expected one of the run's tasks with labels, ", joined(names, ", "), ", got ",
             source.task.empty() ? "none" : source.task);
}

TrainedClassifier load_one_of_several(const RunSelection& source, const TrainedModel& trained) {
  const SharedTask task = task_with_labels(source, trained);
  auto tokenizer = Tokenizer::load(trained.run.tokenizer());
  std::vector<std::string> labels = read_labels(trained.run.labels(), task.name);
  const std::shared_ptr<Model> trunk = make_model_with_heads(task.config, model_vocabulary(trained.config, *tokenizer));
  std::shared_ptr<EncoderForClassification> model =
      make_encoder_for_classification(task.config, trunk, std::ssize(labels));
  MultiTaskModel all(trunk);
  all.add(task.name, model);
  load_model(trained, all);
  TrainedModel of_task{.run = trained.run,
                       .config = task.config,
                       .checkpoint = trained.checkpoint,
                       .checkpoint_text = trained.checkpoint_text,
                       .step = trained.step,
                       .matmul = trained.matmul,
                       .weights = trained.weights,
                       .without_heads = trained.without_heads,
                       .warnings = trained.warnings};
  return {std::move(of_task), std::move(tokenizer), std::move(labels), std::move(model)};
}

}  // namespace

template <>
TrainedClassifier load_run(const RunSelection& source, const LoadOptions& options) {
  const RunFolder run = find_run(source.path).run;
  const TaskRow& task = task_of_run(source);
  check(task.has_labels || task.is_multi_task, run.root.string(),
        ": the model is not fine-tuned on labels: expected a run of task.kind");
  if (!task.is_multi_task && !source.task.empty())
    fail_usage("--task: expected none for a run of one task, got ", source.task);
  return with_trained(source, options, [&](TrainedModel trained) -> TrainedClassifier {
    if (task.is_multi_task) return load_one_of_several(source, trained);
    auto tokenizer = Tokenizer::load(trained.run.tokenizer());
    std::vector<std::string> labels = read_labels(trained.run.labels());
    auto model = make_encoder_for_classification(trained.config, *tokenizer, std::ssize(labels));
    load_model(trained, *model);
    return {std::move(trained), std::move(tokenizer), std::move(labels), std::move(model)};
  });
}

}  // namespace tapeformer
