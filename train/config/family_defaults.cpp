#include "train/config/family_defaults.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "train/config/key_text.h"

namespace tapeformer {
namespace {

// Returns "0.003 for gpt, rnn; 0.001 for bert": each value with the families that have it. Families without a value are
// left out.
std::string families_by_value(const std::function<std::optional<KeyValue>(const TrainingDefaults&)>& value_of) {
  std::vector<std::pair<KeyValue, std::string>> groups;
  for (const ModelFamily& family : model_families()) {
    const std::optional<KeyValue> value = value_of(family.training);
    if (!value) continue;
    const auto group = std::ranges::find(groups, *value, [](const auto& other) { return other.first; });
    if (group == groups.end()) {
      groups.emplace_back(*value, family.name);
    } else {
      group->second += ", " + family.name;
    }
  }
  std::string help;
  for (const auto& [value, names] : groups) {
    help += str_cat(help.empty() ? "" : "; ", command_line_text(value), " for ", names);
  }
  return help;
}

}  // namespace

std::string family_defaults_help(const std::function<KeyValue(const TrainingDefaults&)>& value_of) {
  return str_cat(families_by_value(value_of), "; ", command_line_text(value_of(TrainingDefaults{})), " for task.kind");
}

std::string optimizer_defaults_help(const std::string& key) {
  return families_by_value([&](const TrainingDefaults& training) -> std::optional<KeyValue> {
    const auto& values = training.optimizer;
    const auto given = std::ranges::find(values, key, [](const auto& other) { return other.first; });
    return given == values.end() ? std::nullopt : std::optional(given->second);
  });
}

}  // namespace tapeformer
