// The keys of the tasks that a model learns together: [tasks.NAME] kind, weight, … Their entries depend on the names
// that a configuration gives to its tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config_table.h"

namespace tapeformer {

// The section of these keys; the name of a key in it is "NAME.weight".
inline constexpr std::string_view kTasksSection = "tasks";
// The placeholder for a task's name in the names of config_keys(): "tasks.NAME.weight".
inline constexpr std::string_view kAnyTask = "NAME";

// Returns the entries of the task with this name, in order.
std::vector<ConfigEntry> shared_task_entries(std::string_view task);

// Returns the entry of a key such as "pos.weight", whose set() adds the task if the configuration has none of this
// name; nullopt if there is no such key. Throws UsageError for a name that is not made of letters, digits, _ and -.
std::optional<ConfigEntry> find_shared_task_entry(std::string_view key);

// Returns the full name of the known key that is most similar to an unknown one: "tasks.pos.weight" for "pos.wieght".
std::string nearest_shared_task_key(std::string_view key);

}  // namespace tapeformer
