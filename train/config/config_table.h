// The one table of all configuration keys; config.cpp and config_rules.cpp are written on top of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

// The entries of a configuration with this model.type, section by section. Throws UsageError for an unknown type.
std::vector<ConfigEntry> config_entries(std::string_view model_type);

// The entry of "section.key"; nothing where there is none. A model's key is the one of its family, or where that has
// no such key, of the first family that has it: the type may still change until the configuration is resolved.
std::optional<ConfigEntry> find_config_entry(std::string_view section, std::string_view key,
                                             std::string_view model_type);

// The known name nearest to an unknown one: what key_of_other_name() says, else by its key, which may be right in a
// wrong section; of several, the one of the section meant.
std::string nearest_config_name(std::string_view section, std::string_view key);
std::string nearest_config_section(std::string_view section);
bool is_config_section(std::string_view section);

// A model's key with this value has its family's default. Accepted for every key that takes words.
inline constexpr std::string_view kAuto = "auto";

}  // namespace tapeformer
