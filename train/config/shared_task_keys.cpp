#include "train/config/shared_task_keys.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/nearest_name.h"

namespace tapeformer {
namespace {

using TaskSection = Config::TaskSection;

// A key of a task.
struct SharedTaskKey {
  Key key;
  KeyValue (*get)(const TaskSection&);
  void (*set)(TaskSection&, KeyValue);
};

template <auto Member>
SharedTaskKey row(const char* name, const char* help, bool may_change, decltype(Key::allowed) allowed = {}) {
  using Type = std::remove_cvref_t<decltype(std::declval<TaskSection>().*Member)>;
  Key key{.name = name, .default_value = TaskSection{}.*Member, .help = help, .allowed = std::move(allowed)};
  key.may_change = may_change;
  return {std::move(key), [](const TaskSection& task) -> KeyValue { return task.*Member; },
          [](TaskSection& task, KeyValue value) { task.*Member = std::get<Type>(std::move(value)); }};
}

const std::vector<SharedTaskKey>& rows() {
  static const std::vector<SharedTaskKey> all{
      row<&TaskSection::kind>("kind", "what the task is: a value of task.kind with labels, or what the family is for",
                              false),
      row<&TaskSection::weight>("weight", "factor of the task's loss (0 = the task is left out)", false, at_least(0)),
      row<&TaskSection::text>("text", "training text, as data.text", true),
      row<&TaskSection::valid>("valid", "validation text, as data.valid", true),
      row<&TaskSection::corpus>("corpus", "name of a generated corpus of data.lines lines", true),
      row<&TaskSection::labels>("labels", "labelled text, as data.labels", true),
      row<&TaskSection::valid_labels>("valid_labels", "labelled text for validation, as data.valid_labels", true)};
  return all;
}

ConfigEntry entry_of(const SharedTaskKey& row, const std::string& task) {
  Key key = row.key;
  key.name = str_cat(task, ".", key.name);
  return {std::string(kTasksSection), std::move(key),
          [&row, task](const Config& config) {
            const auto found = config.tasks.find(task);
            return row.get(found == config.tasks.end() ? TaskSection{} : found->second);
          },
          [&row, task](Config& config, KeyValue value) { row.set(config.tasks[task], std::move(value)); }};
}

bool is_task_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.find_first_not_of(kAllowed) == name.npos;
}

}  // namespace

std::vector<ConfigEntry> shared_task_entries(std::string_view task) {
  std::vector<ConfigEntry> entries;
  for (const SharedTaskKey& row : rows()) entries.push_back(entry_of(row, std::string(task)));
  return entries;
}

std::optional<ConfigEntry> find_shared_task_entry(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  if (dot == key.npos) return std::nullopt;
  const auto found = std::ranges::find(rows(), key.substr(dot + 1),
                                       [](const SharedTaskKey& row) -> std::string_view { return row.key.name; });
  if (found == rows().end()) return std::nullopt;
  const std::string task(key.substr(0, dot));
  if (!is_task_name(task))
    fail_usage("tasks: expected a name of letters, digits, _ and - for a task, got \"", task, "\"");
  return entry_of(*found, task);
}

std::string nearest_shared_task_key(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  std::vector<std::string_view> names;
  for (const SharedTaskKey& row : rows()) names.push_back(row.key.name);
  const std::string_view task = dot == key.npos ? kAnyTask : key.substr(0, dot);
  return str_cat(kTasksSection, ".", task, ".", nearest_name(dot == key.npos ? key : key.substr(dot + 1), names));
}

}  // namespace tapeformer
