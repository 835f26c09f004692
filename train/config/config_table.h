// All configuration keys: config_table.cpp has the keys that every configuration has; model families and optimizers
// have their own. config.cpp and config_rules.cpp are built on this table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/config/config.h"

namespace tapeformer {

struct ConfigEntry {
  std::string section;
  Key key;  // its name does not include the section
  std::function<KeyValue(const Config&)> get;
  std::function<void(Config&, KeyValue)> set;  // the value's type must be the key's
  // The allowed words of a key that names a row of a registry, which may grow; they replace key.allowed.
  std::vector<std::string> (*registered)() = nullptr;

  std::string name() const { return section + "." + key.name; }
};

// Returns the keys that every configuration has.
const std::vector<ConfigEntry>& common_entries();

// Returns the entries of a configuration with this model.type and optimizer.name, section by section. Throws UsageError
// for an unknown type; an unknown optimizer has no keys of its own.
std::vector<ConfigEntry> config_entries(const Config& config);

// Returns the entry of "section.key"; nullopt if there is none. A key of a model is looked up in the configuration's
// family first, then in the other families, because model.type may still change until the configuration is resolved. A
// key of an optimizer is looked up in the same way.
std::optional<ConfigEntry> find_config_entry(std::string_view section, std::string_view key, const Config& config);
// The same for a name "section.key".
std::optional<ConfigEntry> find_config_entry(std::string_view name, const Config& config);

// Splits "section.key" at the first dot; the section is empty if there is none.
std::pair<std::string_view, std::string_view> split_name(std::string_view name);

// Removes the values of keys that the optimizer does not have, and returns their full names with the values.
std::vector<std::pair<std::string, KeyValue>> remove_foreign_options(Config::Optimizer& optimizer);

// Returns the known name that is most similar to an unknown one: key_of_other_name() if it gives one, else the name
// with the most similar key, even in another section; of equally similar ones, that in the given section.
std::string nearest_config_name(std::string_view section, std::string_view key);
// Returns the known section that is most similar to an unknown one; one that begins with it comes first.
std::string nearest_config_section(std::string_view section);
bool is_config_section(std::string_view section);

// The word that gives a key its default. Every key of a family or an optimizer whose values are words accepts it.
inline constexpr std::string_view kAuto = "auto";

}  // namespace tapeformer
