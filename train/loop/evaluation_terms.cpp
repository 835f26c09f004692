#include "train/loop/evaluation_terms.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <variant>

#include "core/error.h"
#include "data/text/byte_reader.h"
#include "data/text/text_files.h"
#include "train/config/config_table.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"

namespace tapeformer {
namespace {

// Returns the keys that decide how validation data is scored and that a resumed run may change, with their values.
std::string scored_by(const ResolvedConfig& config) {
  std::string text = str_cat("eval.batches = ", config.eval.batches, ", eval.stride = ", config.eval.stride);
  // train.batch matters if the number of batches is limited, and for a recurrent language model, which reads that many
  // streams. In fine-tuning, a recurrent model reads each example alone.
  const bool reads_streams = config.family().bptt > 0 && config.task.kind == kNoTask;
  if (config.eval.batches > 0 || reads_streams) text += str_cat(", train.batch = ", config.train.batch);
  if (config.eval.batches > 0) text += str_cat(", train.batch_tokens = ", config.train.batch_tokens);
  return text;
}

// Returns the real paths of the files that the value of a key names. Pipes are no files: what they give is read once.
std::set<std::filesystem::path> files_of(const KeyValue& value) {
  const std::vector<std::string> names = texts_of(value);
  std::vector<std::filesystem::path> paths(names.begin(), names.end());
  if (std::holds_alternative<std::vector<std::string>>(value)) paths = expand_inputs(names);  // which may be globs
  std::set<std::filesystem::path> real;
  for (const std::filesystem::path& path : paths) {
    std::error_code unreachable;
    const std::filesystem::path place = std::filesystem::canonical(path, unreachable);
    if (!unreachable && !is_read_once(place)) real.insert(place);
  }
  return real;
}

std::vector<std::string> trained_files(const Config& config, const std::string& prefix) {
  std::vector<std::string> lines;
  for (const DataKind& kind : all_data_kinds()) {
    for (std::size_t i = 0; i < kind.validation.size(); ++i) {
      const auto value = [&](const std::string& name) { return find_config_entry(name, config)->get(config); };
      const std::set<std::filesystem::path> train = files_of(value(kind.training[i])),
                                            valid = files_of(value(kind.validation[i]));
      const auto shared = std::ranges::find_if(valid, [&](const auto& file) { return train.contains(file); });
      if (shared == valid.end()) continue;
      lines.push_back(str_cat(prefix, kind.validation[i], ": ", shared->string(),
                              " is read by the training too, so its loss says nothing about other data"));
    }
  }
  return lines;
}

}  // namespace

TrainingState first_state(const Objective& objective, const ResolvedConfig& config) {
  TrainingState state;
  state.data_hash = objective.facts().data_hash;
  state.valid_hash = objective.facts().valid_hash;
  state.scored_by = scored_by(config);
  return state;
}

std::optional<std::string> update_evaluation_terms(TrainingState& state, const Objective& objective,
                                                   const ResolvedConfig& config) {
  const std::uint64_t valid_hash = objective.facts().valid_hash;
  if (valid_hash == 0) return std::nullopt;  // nothing is evaluated now: the terms of the earlier evaluations stay
  const std::string now = scored_by(config);
  std::optional<std::string> change;
  if (state.valid_hash != 0 && state.valid_hash != valid_hash) {
    change = "the validation data is another than before";
  } else if (!state.scored_by.empty() && state.scored_by != now) {
    change = str_cat("validation is scored by ", now, ", and was by ", state.scored_by);
  }
  state.valid_hash = valid_hash;
  state.scored_by = now;
  if (!change) return std::nullopt;
  state.terms_since = state.step;
  if (state.best_step == 0) return std::nullopt;
  state.best_loss = 0, state.best_step = 0;
  state.scheduled_best.reset();
  return *change + ": its losses do not compare with the earlier ones, and the best one is looked for anew";
}

std::vector<std::string> trained_validation_files(const ResolvedConfig& config) {
  std::vector<std::string> lines = trained_files(config.values(), "");
  for (const auto& [name, task] : config.tasks) {
    if (task.weight == 0) continue;  // the task is left out
    Config alone;
    alone.data.text = task.text, alone.data.valid = task.valid;
    alone.data.labels = task.labels, alone.data.valid_labels = task.valid_labels;
    std::ranges::move(trained_files(alone, str_cat("tasks.", name, ": ")), std::back_inserter(lines));
  }
  return lines;
}

void require_evaluations(const Objective& objective, const ResolvedConfig& config) {
  if (objective.can_evaluate()) return;
  const auto refuse = [&](const char* key, const auto& expected, const auto& got) {
    fail_usage(key, ": expected ", expected, " where nothing is evaluated (", objective.validation().missing, "), got ",
               got);
  };
  if (config.schedule.kind == ScheduleKind::plateau) refuse("schedule.kind", "another one", "plateau");
  if (config.eval.patience > 0) refuse("eval.patience", 0, config.eval.patience);
}

}  // namespace tapeformer
