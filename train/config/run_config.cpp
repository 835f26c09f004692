#include "train/config/run_config.h"

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "nn/optim/optimizers.h"
#include "train/config/config_table.h"
#include "train/config/idle_keys.h"
#include "train/config/key_text.h"

namespace tapeformer {
namespace {

// Reads a run's configuration as this version would have written it, but for the keys that have no effect.
Config read_run_config(const std::filesystem::path& path) {
  Config run = load_config(path);
  // Older versions wrote the keys of all optimizers into every file.
  remove_foreign_options(run.optimizer);
  // Before there was a key norm_kind, every norm was a layer norm.
  const std::vector<Key>& keys = find_model_family(run.model.type).keys;
  if (std::ranges::count(keys, "norm_kind", &Key::name) > 0)
    run.model.options.try_emplace("norm_kind", std::string("layer"));
  return run;
}

// Returns the keys of the second configuration, with those of tasks that only the first one has.
std::vector<ConfigEntry> entries_of_both(const Config& first, Config second) {
  second.tasks.insert(first.tasks.begin(), first.tasks.end());
  return config_entries(second);
}

}  // namespace

Config load_run_config(const std::filesystem::path& path) {
  Config run = read_run_config(path);
  reset_idle_keys(run);
  return run;
}

std::vector<std::string> ignored_keys(const std::filesystem::path& path) {
  Config run = read_run_config(path);
  std::vector<std::string> lines;
  for (const std::string& note : reset_idle_keys(run)) {
    lines.push_back(str_cat(path.string(), ": ", note, ", and is ignored"));
  }
  return lines;
}

std::vector<std::string> changes_by_hand(const std::filesystem::path& config,
                                         const std::optional<std::filesystem::path>& copy) {
  const std::string text = read_file(config);
  if (is_unchanged(text)) return {};
  if (!copy) {
    if (!has_checksum(text)) return {};
    return {"its checksum differs, and no checkpoint says what it was"};
  }
  if (!has_checksum(read_file(*copy))) return {};
  const Config before = load_config(*copy), after = load_config(config);
  std::vector<std::string> changes;
  if (before.model.type != after.model.type) {
    changes.push_back(str_cat("model.type was ", before.model.type, " and is ", after.model.type));
    return changes;  // the keys of different model families cannot be compared
  }
  for (const ConfigEntry& entry : entries_of_both(before, after)) {
    const KeyValue was = entry.get(before), is = entry.get(after);
    if (was != is) changes.push_back(str_cat(entry.name(), " was ", value_text(was), " and is ", value_text(is)));
  }
  return changes;
}

ResolvedConfig stored_config(Config run) {
  run.derived.reset();
  reset_idle_keys(run);  // resolve() refuses such values where it has not derived them itself
  return resolve(std::move(run));
}

std::vector<std::string> check_resume(const ResolvedConfig& stored, const ResolvedConfig& resumed) {
  const auto state_slabs = [](const ResolvedConfig& config, ParameterKind kind) {
    return find_optimizer_row(config.optimizer.name)->state_slabs(optimizer_options(config), kind);
  };
  for (const auto& word : Words<ParameterKind>::list) {
    const int before = state_slabs(stored, word.first), after = state_slabs(resumed, word.first);
    if (before == after) continue;
    fail_usage("optimizer.name: the run's ", stored.optimizer.name, " keeps ", before, " numbers for a parameter, got ",
               resumed.optimizer.name, ", which would keep ", after,
               ": train.init_from begins a new run with the weights");
  }
  const StateFormat before = state_format(optimizer_options(stored)), after = state_format(optimizer_options(resumed));
  if (before != after) {
    fail_usage("optimizer.state: the run has ", word_of(before), ", got ", word_of(after),
               ": the moments go on as they were saved; train.init_from begins a new run with the weights");
  }
  if ((stored.train.ema > 0) != (resumed.train.ema > 0)) {
    fail_usage("train.ema: the run has ", stored.train.ema, ", got ", resumed.train.ema,
               ": a moving average begins with the run and goes on to its end");
  }
  std::vector<std::string> changes;
  for (const ConfigEntry& entry : entries_of_both(stored.values(), resumed.values())) {
    const KeyValue before = entry.get(stored.values()), after = entry.get(resumed.values());
    if (before == after) continue;
    const std::string name = entry.name(), value = command_line_text(after);
    if (!entry.key.may_change) {
      fail_usage(name, ": the run has ", value_text(before), ", got ", value_text(after),
                 ": it says what the model, its tokens or its task are, which cannot change on resume");
    }
    const bool derived = std::ranges::count(*resumed.values().derived, name) > 0;
    changes.push_back(str_cat(name, " is now ", value, derived ? " (follows " + entry.key.follows + ")" : ""));
  }
  return changes;
}

}  // namespace tapeformer
