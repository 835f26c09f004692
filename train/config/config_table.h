// The one table of all configuration keys; config.cpp and config_rules.cpp are written on top of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/keys.h"
#include "train/config/config.h"

namespace tapeformer {

// In the order of ConfigType.
using ConfigValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>>;

using ConfigRange = KeyRange;

struct ConfigEntry {
  std::string section, key;
  ConfigValue (*get)(const Config&);
  void (*set)(Config&, ConfigValue);  // the value's type is the key's
  std::string help;
  std::variant<std::monostate, ConfigRange, std::vector<std::string>> allowed;

  std::string name() const { return section + "." + key; }
  ConfigType type() const { return static_cast<ConfigType>(get(Config{}).index()); }
};

const std::vector<ConfigEntry>& config_table();

// The entry of "section.key", or nullptr.
const ConfigEntry* find_config_entry(std::string_view section, std::string_view key);
// The known name nearest to an unknown one: by its key, which may be right in a wrong section; of several, the one of
// the section meant.
std::string nearest_config_name(std::string_view section, std::string_view key);
std::string nearest_config_section(std::string_view section);
bool is_config_section(std::string_view section);

// Throws UsageError, beginning with `where`, unless the entry takes the value.
void check_config_value(const ConfigEntry& entry, const ConfigValue& value, const std::string& where);

// A value as TOML writes it; doubles so that they read back to the same bits.
std::string format_config_value(const ConfigValue& value);

}  // namespace tapeformer
