// Several tasks at once: one model with a head for each (Caruana 1997; Liu et al. 2019).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text/joined.h"
#include "tasks/common/eval.h"
#include "tasks/common/task_rows.h"
#include "tasks/multi_task/multi_task_objective.h"
#include "train/config/data_kinds.h"
#include "train/config/rules.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

// The metrics of all tasks. Those of two tasks may be equal: of "a", a tagger, and of "a_span", which finds answers.
std::vector<std::string> metrics_of(const std::vector<SharedTask>& tasks) {
  std::vector<std::string> all;
  for (const SharedTask& task : tasks) std::ranges::move(task.metrics(), std::back_inserter(all));
  return all;
}

void check_tasks(const ResolvedConfig& config) {
  const std::string data_key = data_kind(config.data);
  require(data_key.empty(), data_key,
          ": expected none beside task.kind = multi_task, whose tasks have their data in [tasks.NAME]");
  require(!config.tasks.empty(), "tasks: expected sections [tasks.NAME] beside task.kind = multi_task, got none");
  const std::vector<SharedTask> tasks = shared_tasks(config);
  require(!tasks.empty(), "tasks: expected a weight above 0 for at least one task, got 0 for all");
  const std::string& metric = config.task.metric_for_best_model;
  const std::vector<std::string> metrics = metrics_of(tasks);
  for (const std::string& name : metrics) {
    require(std::ranges::count(metrics, name) == 1, "tasks: expected names of tasks whose metrics differ, got two ",
            name);
  }
  require(metric.empty() || std::ranges::count(metrics, metric) > 0, "task.metric_for_best_model: expected ",
          joined(metrics, ", "), " or none, got ", metric);
  const bool has_text = std::ranges::any_of(tasks, [](const SharedTask& task) { return !task.has_labels(); });
  require(!has_text || !config.task.freeze, "task.freeze: expected false beside a task of text, which trains the ",
          "encoder, got true");
  require(!has_text || config.task.layer_decay == 1, "task.layer_decay: expected 1 beside a task of text, which ",
          "trains all layers alike, got ", config.task.layer_decay);
  require(config.train.lora_rank == 0, "train.lora.rank: expected 0 for task.kind = multi_task, got ",
          config.train.lora_rank);
}

// Evaluates the tasks on their validation data.
EvalReport evaluate_tasks(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  require_no_windows(request, "each task is evaluated as in training");
  if (request.batch) fail_usage("eval: --batch: expected none, since each task is evaluated as in training");
  TrainedObjective run = load_trained_objective(request.run, load_options(request));
  request.on_loaded(run);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  auto& objective = dynamic_cast<MultiTaskObjective&>(*run.objective);
  check(objective.can_evaluate(), run.run.root.string(), ": ", objective.validation().missing);
  Json json{{"tasks", Json::object()}};
  std::string table = fmt::format("{:<15} {}\n", "validation", run.checkpoint_text);
  const auto tasks = objective.evaluate_tasks(start_progress(request.progress, "evaluating"));
  for (const auto& task : tasks) {
    require_finite(task.evaluation);
    Json& own = json["tasks"][task.name] = {{"tokens", task.evaluation.tokens}, {"loss", task.evaluation.loss()}};
    table += fmt::format("\n{}\n{:<15} {:.4f} {}\n", task.name, "  loss", task.evaluation.loss(), task.unit);
    for (const auto& [name, value] : task.evaluation.metrics) {
      own[name] = value;
      table += fmt::format("{:<15} {:.4f}\n", "  " + name, value);
    }
  }
  const double loss = objective.total(tasks).loss();
  json["loss"] = loss;
  table += fmt::format("\n{:<15} {:.4f} by the tasks' weights\n", "mean loss", loss);
  return {with_run_keys(std::move(json), run), table};
}

}  // namespace

TaskRow multi_task() {
  return {
      .name = "multi_task",
      .help = "several tasks at once, each in a section [tasks.NAME]",
      .fine_tunes = true,
      .is_multi_task = true,
      .implied_by = "tasks",
      .model = "a model of several tasks",
      .commands = "for models of several tasks there are eval, predict with --task, embed, neighbours and probe",
      .next_commands = {"eval %", "predict % --task NAME < FILE"},
      .eval_input = "validation data",
      .loss_unit = "nats, the mean of the tasks",
      .has_perplexity = false,
      .reads_sentences = true,
      .keys = {"freeze", "mix", "layer_decay", "dropout", "class_weights", "sampling_alpha", "metric_for_best_model"},
      .check = check_tasks,
      .prepare = prepare_tasks,
      .dummy = dummy_tasks,
      .make = make_from<MultiTaskObjective, MultiTaskData>,
      .optimum = [](const ResolvedConfig&) { return std::string(); },
      .evaluate = evaluate_tasks};
}

}  // namespace tapeformer
