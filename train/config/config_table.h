// All configuration keys: config_table.cpp has those that every configuration has, model families and optimizers have
// their own. config.cpp and config_rules.cpp are written on top of it.
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
  Key key;  // its name is without the section
  std::function<KeyValue(const Config&)> get;
  std::function<void(Config&, KeyValue)> set;  // the value's type must be the key's
  // The words of a key that names a row of a registry, which may grow; they replace key.allowed.
  std::vector<std::string> (*registered)() = nullptr;

  std::string name() const { return section + "." + key.name; }
};

// The keys that every configuration has.
const std::vector<ConfigEntry>& common_entries();

// The entries of a configuration with this model.type and optimizer.name, section by section. Throws UsageError for an
// unknown type; an unknown optimizer has no keys of its own.
std::vector<ConfigEntry> config_entries(const Config& config);

// The entry of "section.key"; nothing where there is none. A model's key is the one of its family, or where that has
// no such key, of the first family that has it: the type may still change until the configuration is resolved. The same
// holds for optimizers.
std::optional<ConfigEntry> find_config_entry(std::string_view section, std::string_view key, const Config& config);

// Removes the values of keys that the optimizer does not have, and returns their full names with the values.
std::vector<std::pair<std::string, KeyValue>> remove_foreign_options(Config::Optimizer& optimizer);

// The known name nearest to an unknown one: what key_of_other_name() says, else by its key, which may be right in a
// wrong section; of several, the one of the section meant.
std::string nearest_config_name(std::string_view section, std::string_view key);
std::string nearest_config_section(std::string_view section);
bool is_config_section(std::string_view section);

// A key of a family or an optimizer with this value has its default. Accepted for every such key that takes words.
inline constexpr std::string_view kAuto = "auto";

}  // namespace tapeformer
