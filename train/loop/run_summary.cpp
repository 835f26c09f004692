#include "train/loop/run_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/text/joined.h"
#include "nn/formats/safetensors.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"
#include "train/config/run_config.h"
#include "train/loop/evaluation.h"
#include "train/loop/trainer.h"
#include "train/run/checkpoint.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;

// Returns the name of a file or folder, without the folders that lead to it.
std::string name_of(const fs::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();  // "texts/" ends in no file name
}

// Returns what a run was trained on, in a few words.
std::string data_of(const ResolvedConfig& config) {
  if (!config.tasks.empty()) {
    std::vector<std::string_view> tasks;
    for (const auto& [name, task] : config.tasks) {
      if (task.weight > 0) tasks.push_back(name);
    }
    return joined(tasks, " + ");
  }
  const std::string key = data_kind(config.data);
  if (key.empty()) return {};
  const auto named = texts_of(find_config_entry(key, config.values())->get(config.values()));
  return name_of(named.front()) + (named.size() > 1 ? ", …" : "");
}

// The number of parameters in a file of weights, which also has the running statistics of batch norm.
std::int64_t parameters_in(const fs::path& file) {
  const SafetensorsFile model(file);
  std::int64_t parameters = 0;
  for (const auto& [name, entry] : model.entries()) {
    const bool is_statistic = name.ends_with(".running_mean") || name.ends_with(".running_var");
    if (!is_statistic) parameters += entry.sizes().product();
  }
  return parameters;
}

// Returns the number of parameters in the newest checkpoint, and of the frozen weights that adapters change; nullopt if
// there is no checkpoint, or if it was just removed.
std::optional<std::int64_t> parameters_of(const RunFolder& run) {
  const auto latest = latest_step(run);
  if (!latest) return std::nullopt;
  const fs::path weights = checkpoint_weights(run.checkpoint(*latest));
  std::error_code error;
  if (!fs::exists(weights, error)) return std::nullopt;
  return parameters_in(weights) + (fs::exists(run.base(), error) ? parameters_in(run.base()) : 0);
}

// Returns the number that a line of metrics.jsonl has under this key; nullopt if it has none.
std::optional<double> number_of(const nlohmann::ordered_json& line, const std::string& key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// Reads the metrics of an evaluation, except BLEU: the keys that begin with `prefix`.
void take_measures(RunSummary& summary, const nlohmann::ordered_json& line, const std::string& prefix) {
  summary.best_loss = number_of(line, prefix + "loss");
  summary.bits_per_byte = number_of(line, prefix + "bits_per_byte");
  summary.metrics.clear();
  for (const auto& [key, value] : line.items()) {
    if (!key.starts_with(prefix) || !value.is_number()) continue;
    const std::string name = key.substr(prefix.size());
    if (name == "loss" || name == "perplexity" || name == "tokens" || name == "bits_per_byte" || name == "bleu")
      continue;
    summary.metrics.emplace_back(name, value.get<double>());
  }
}

// Reads the evaluations up to the step `last`; nullopt: all. The loss, or the metric that chooses the best checkpoint,
// says which is the best.
void read_evaluations(RunSummary& summary, std::string_view metric, std::optional<std::int64_t> last) {
  const std::string name = metric.empty() ? "loss" : std::string(metric);
  const std::int64_t since = terms_since(summary.run);
  std::optional<double> best;  // smaller is better
  std::optional<double> best_bleu, last_bleu;
  std::int64_t last_bleu_step = 0;
  std::optional<double> tokens;  // of the lines so far
  for (const auto& line : read_metrics(summary.run.metrics())) {
    const auto step = line["step"].get<std::int64_t>();
    if (last && step > *last) continue;
    summary.step = step;  // until the newest checkpoint says better
    summary.elapsed_s = line.value("elapsed_s", summary.elapsed_s);
    if (const auto read = number_of(line, "tokens")) tokens = read;
    for (const std::string prefix : {"eval_", "average_"}) {
      const auto value = number_of(line, prefix + name);
      if (!value) continue;
      if (prefix == "eval_" && summary.step <= since) continue;
      const double cost = cost_of_metric(name, *value);
      const auto bleu = number_of(line, prefix + "bleu");
      if (bleu && prefix == "eval_") last_bleu = bleu, last_bleu_step = summary.step;
      if (best && cost >= *best) continue;
      best = cost, best_bleu = bleu, summary.best_tokens = tokens;
      take_measures(summary, line, prefix);
    }
  }
  if (!best_bleu && last_bleu) summary.bleu_step = last_bleu_step;
  if (best_bleu || last_bleu) summary.metrics.emplace_back("bleu", best_bleu ? *best_bleu : *last_bleu);
  for (const std::string_view informative : {metric, std::string_view("bleu"), std::string_view("accuracy")}) {
    if (summary.measure.empty() && summary.measured(informative)) summary.measure = informative;
  }
}

// A config.toml alone does not make a run: other programs use that name too.
bool is_run(const fs::path& folder) {
  const RunFolder run{folder};
  return fs::exists(run.config()) && (fs::exists(run.metrics()) || fs::exists(run.checkpoints()));
}

}  // namespace

std::optional<double> RunSummary::measured(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, [](const auto& entry) { return entry.first; });
  return found != metrics.end() ? std::optional(found->second) : std::nullopt;
}

std::string loss_unit(const RunFolder& run) {
  try {
    return stored_config(load_run_config(run.config())).task_row().loss_unit;
  } catch (const Error&) {
    return "";
  }
}

std::string metric_for_best_model(const RunFolder& run) {
  try {
    const std::string metric(stored_config(load_run_config(run.config())).metric_for_best_model());
    return metric.empty() ? "loss" : metric;
  } catch (const Error&) {
    return "loss";
  }
}

std::optional<std::int64_t> last_kept_step(const RunFolder& run) {
  return is_in_training(run) ? std::nullopt : latest_step(run);
}

RunSummary summarize_run(const RunFolder& run) {
  const ResolvedConfig config = stored_config(load_run_config(run.config()));
  RunSummary summary;
  summary.run = run;
  summary.type = config.model.type;
  summary.data = data_of(config);
  summary.unit = config.task_row().loss_unit;
  const bool is_running = is_in_training(run);
  const auto saved = latest_step(run);
  const auto state = newest_training_state(run);
  summary.steps = state ? last_step(config, *state) : config.train.steps;  // as far as the newest checkpoint knows it
  // What a killed process has logged after the newest checkpoint is of weights that are lost.
  if (fs::exists(run.metrics()))
    read_evaluations(summary, config.metric_for_best_model(), is_running ? std::nullopt : saved);
  summary.parameters = parameters_of(run);
  if (saved) {
    summary.step = is_running ? std::max(summary.step, *saved) : *saved;
    if (state) summary.elapsed_s = std::max(summary.elapsed_s, state->elapsed_s);  // few steps may be logged
  }
  const bool imported = is_imported(run);
  if (imported) summary.steps = 0;
  const bool is_stopped_early = state && patience_is_out(config, state->step, state->best_step);
  summary.state = is_running                      ? "running"
                  : imported                      ? "imported"
                  : summary.step >= summary.steps ? "finished"
                  : is_stopped_early              ? "stopped early"
                                                  : "stopped";
  return summary;
}

std::vector<RunFolder> runs_below(const fs::path& folder) {
  check(fs::is_directory(folder), folder.string(), ": expected a folder");
  if (is_run(folder)) return {{folder}};
  std::vector<RunFolder> runs;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, options); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (!entry->is_directory() || !is_run(entry->path())) continue;
    runs.push_back({entry->path()});
    entry.disable_recursion_pending();
  }
  std::ranges::sort(runs, {}, &RunFolder::root);
  return runs;
}

}  // namespace tapeformer
