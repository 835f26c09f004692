// Looks up keys: those that every configuration has, and those of model families and optimizers.
#include <algorithm>
#include <span>

#include "core/text/joined.h"
#include "core/text/nearest_name.h"
#include "nn/optim/optimizers.h"
#include "train/config/config_table.h"
#include "train/config/key_text.h"
#include "train/config/other_names.h"
#include "train/config/shared_task_keys.h"

namespace tapeformer {

namespace {

// A row of a registry that has keys of its own.
struct KeyOwner {
  std::string_view name;
  std::span<const Key> keys;
};

const Key* find_key(const KeyOwner& owner, std::string_view name) {
  const auto key = std::ranges::find(owner.keys, name, &Key::name);
  return key == owner.keys.end() ? nullptr : &*key;
}

// Returns the rows that add keys to a section, beside the common keys.
std::vector<KeyOwner> owners_of(std::string_view section) {
  std::vector<KeyOwner> owners;
  if (section == "model") {
    for (const ModelFamily& family : model_families()) owners.push_back({family.name, family.keys});
  } else if (section == "optimizer") {
    for (const OptimizerRow& row : optimizer_rows()) owners.push_back({row.name, row.keys});
  }
  return owners;
}

// Returns the name of the row that the configuration chooses.
std::string_view chosen_owner(std::string_view section, const Config& config) {
  return section == "model" ? config.model.type : config.optimizer.name;
}

// Returns the given values of the keys that belong to the rows of the section.
template <class AnyConfig>
auto& options_of(const std::string& section, AnyConfig& config) {
  return section == "model" ? config.model.options : config.optimizer.options;
}

ConfigEntry with_registered_words(ConfigEntry entry) {
  if (entry.registered) entry.key.allowed = entry.registered();
  return entry;
}

// Makes the entry of a row's key. A key that takes words also takes "auto". Optimizer keys do not describe the model,
// so a resumed run may change them.
ConfigEntry own_entry(const std::string& section, Key key) {
  if (auto* words = std::get_if<std::vector<std::string>>(&key.allowed); words && !std::ranges::count(*words, kAuto)) {
    words->insert(words->begin(), std::string(kAuto));
  }
  if (section == "optimizer") key.may_change = true;
  const auto get = [section, key](const Config& config) -> KeyValue {
    const auto& options = options_of(section, config);
    const auto given = options.find(key.name);
    return given == options.end() ? key.default_value : given->second;
  };
  const auto set = [section, name = key.name](Config& config, KeyValue value) {
    auto& options = options_of(section, config);
    if (value == KeyValue(std::string(kAuto))) {
      options.erase(name);
    } else {
      options[name] = std::move(value);
    }
  };
  return {section, std::move(key), get, set};
}

// Returns the names of the keys that the rows of a section have, each once.
std::vector<std::string> own_keys(std::string_view section) {
  std::vector<std::string> names;
  for (const KeyOwner& owner : owners_of(section)) {
    for (const Key& key : owner.keys) {
      if (!std::ranges::count(names, key.name)) names.push_back(key.name);
    }
  }
  return names;
}

// Calls common(entry) for every common entry in order, and own(section) after the last entry of each section.
template <class Common, class Own>
void for_each_section(const Common& common, const Own& own) {
  const std::vector<ConfigEntry>& entries = common_entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    common(with_registered_words(entries[i]));
    if (i + 1 == entries.size() || entries[i + 1].section != entries[i].section) own(entries[i].section);
  }
}

struct KnownKey {
  std::string section, key;
};

// Returns all keys, each once: the common ones, and those of all rows.
std::vector<KnownKey> known_keys() {
  std::vector<KnownKey> known;
  for_each_section(
      [&](const ConfigEntry& entry) {
        known.push_back({entry.section, entry.key.name});
      },
      [&](const std::string& section) {
        for (const std::string& key : own_keys(section)) known.push_back({section, key});
      });
  return known;
}

// Returns "pre for gpt, post for transformer" if the values differ, else "".
template <class ValueOf>
std::string differing_values(const std::vector<KeyOwner>& owners, const std::string& name, const ValueOf& value_of) {
  std::string text;
  bool differ = false;
  for (const KeyOwner& owner : owners) {
    const KeyValue value = value_of(*find_key(owner, name));
    differ = differ || value != value_of(*find_key(owners.front(), name));
    text += str_cat(text.empty() ? "" : ", ", command_line_text(value), " for ", owner.name);
  }
  return differ ? text : "";
}

// A meaning that one or more rows (`owners`) give to a key.
struct KeyMeaning {
  std::string help;
  std::vector<std::string> words, owners;
};

std::vector<KeyMeaning> meanings_of(const std::vector<KeyOwner>& owners, const std::string& section,
                                    const std::string& name) {
  std::vector<KeyMeaning> meanings;
  for (const KeyOwner& owner : owners) {
    const Key key = own_entry(section, *find_key(owner, name)).key;
    const auto same = [&](const KeyMeaning& other) {
      return other.help == key.help && other.words == allowed_words(key);
    };
    auto place = std::ranges::find_if(meanings, same);
    if (place == meanings.end()) place = meanings.insert(place, {key.help, allowed_words(key), {}});
    place->owners.emplace_back(owner.name);
  }
  return meanings;
}

// Returns the help of a key that several rows have: every meaning, with its words unless these are the same for all,
// and with its owners unless all rows give the key this meaning.
std::string help_of(const std::vector<KeyMeaning>& meanings, bool same_words, bool of_all) {
  std::string help;
  for (const KeyMeaning& meaning : meanings) {
    help += str_cat(help.empty() ? "" : "; ", meaning.help);
    if (!same_words && !meaning.words.empty()) help += str_cat(" {", joined(meaning.words, ","), "}");
    if (meanings.size() > 1 || !of_all) {
      help += str_cat(meanings.size() > 1 ? " (" : " (only ", joined(meaning.owners, ", "), ")");
    }
  }
  return help;
}

// Returns one ConfigKey for a key that several rows of a section may have, with different help and defaults.
ConfigKey own_config_key(const std::string& section, const std::string& name) {
  const std::vector<KeyOwner> all = owners_of(section);
  std::vector<KeyOwner> owners;
  std::ranges::copy_if(all, std::back_inserter(owners), [&](const KeyOwner& owner) { return find_key(owner, name); });
  const std::vector<KeyMeaning> meanings = meanings_of(owners, section, name);
  const std::vector<std::string>& words = meanings.front().words;
  const bool same_words = std::ranges::all_of(meanings, [&](const KeyMeaning& other) { return other.words == words; });
  const bool one_type = std::ranges::all_of(owners, [&](const KeyOwner& owner) {
    return find_key(owner, name)->type() == find_key(owners.front(), name)->type();
  });
  // If the default of a row is "auto", its help explains what that means.
  const auto is_auto = [&](const KeyOwner& owner) {
    return find_key(owner, name)->default_value == KeyValue(std::string(kAuto));
  };
  const auto explained = std::ranges::find_if(owners, is_auto);
  const bool explains = explained != owners.end();
  const ConfigEntry entry = own_entry(section, *find_key(explains ? *explained : owners.front(), name));
  const bool has_words = same_words && !words.empty();
  const std::string defaults =
      explains ? "" : differing_values(owners, name, [](const Key& key) { return key.default_value; });
  const std::string stand_for =
      differing_values(owners, name, [](const Key& key) { return key.stands_for.value_or(key.default_value); });
  ConfigKey key{.name = section + "." + name,
                .type = entry.key.type(),
                .help = help_of(meanings, same_words, owners.size() == all.size()),
                .default_value = one_type ? command_line_text(entry.key.default_value) : "",
                .allowed = same_words ? words : std::vector<std::string>{},
                .owners = {}};
  if (!defaults.empty()) {
    key.help += str_cat(has_words ? " (auto = " : " (default: ", defaults, ")");
    if (has_words) key.default_value = kAuto;
  } else if (!stand_for.empty()) {
    key.help += str_cat(" (", key.default_value, " = ", stand_for, ")");
  }
  if (section == "optimizer") {
    if (const std::string of_families = optimizer_defaults_help(name); !of_families.empty()) {
      key.help += str_cat(" (default of families: ", of_families, ")");
    }
  }
  if (owners.size() < all.size()) {
    for (const KeyOwner& owner : owners) key.owners.emplace_back(owner.name);
  }
  return key;
}

}  // namespace

std::vector<ConfigEntry> config_entries(const Config& config) {
  find_model_family(config.model.type);  // throws if there is no such family
  std::vector<ConfigEntry> entries;
  for_each_section([&](ConfigEntry entry) { entries.push_back(std::move(entry)); },
                   [&](const std::string& section) {
                     for (const KeyOwner& owner : owners_of(section)) {
                       if (owner.name != chosen_owner(section, config)) continue;
                       for (const Key& key : owner.keys) entries.push_back(own_entry(section, key));
                     }
                     if (section != "task") return;
                     for (const auto& task : config.tasks) {
                       std::ranges::move(shared_task_entries(task.first), std::back_inserter(entries));
                     }
                   });
  return entries;
}

std::optional<ConfigEntry> find_config_entry(std::string_view section, std::string_view key, const Config& config) {
  for (const RenamedKey& renamed : kRenamedKeys) {
    if (renamed.former == str_cat(section, ".", key)) key = renamed.name.substr(section.size() + 1);
  }
  if (section == kTasksSection) return find_shared_task_entry(key);
  for (const ConfigEntry& entry : common_entries()) {
    if (entry.section == section && entry.key.name == key) return with_registered_words(entry);
  }
  const Key* found = nullptr;
  for (const KeyOwner& owner : owners_of(section)) {
    const Key* candidate = find_key(owner, key);
    if (candidate && (!found || owner.name == chosen_owner(section, config))) found = candidate;
  }
  return found ? std::optional(own_entry(std::string(section), *found)) : std::nullopt;
}

std::optional<ConfigEntry> find_config_entry(std::string_view name, const Config& config) {
  const auto [section, key] = split_name(name);
  return find_config_entry(section, key, config);
}

std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::vector<std::pair<std::string, KeyValue>> remove_foreign_options(Config::Optimizer& optimizer) {
  std::vector<std::pair<std::string, KeyValue>> removed;
  const OptimizerRow* const row = find_optimizer_row(optimizer.name);
  if (!row) return removed;
  std::erase_if(optimizer.options, [&](const auto& option) {
    const bool foreign = std::ranges::find(row->keys, option.first, &Key::name) == row->keys.end();
    if (foreign) removed.emplace_back("optimizer." + option.first, option.second);
    return foreign;
  });
  return removed;
}

bool is_config_section(std::string_view section) {
  return section == kTasksSection ||
         std::ranges::any_of(common_entries(), [&](const ConfigEntry& entry) { return entry.section == section; });
}

std::string nearest_config_section(std::string_view section) {
  std::vector<std::string_view> sections;
  for (const ConfigEntry& entry : common_entries()) {
    if (entry.section.starts_with(section)) return entry.section;  // an abbreviation
    sections.push_back(entry.section);
  }
  sections.push_back(kTasksSection);
  return std::string(nearest_name(section, sections));
}

std::string nearest_config_name(std::string_view section, std::string_view key) {
  if (const std::string_view known_as = key_of_other_name(key); !known_as.empty()) return std::string(known_as);
  if (section == kTasksSection) return nearest_shared_task_key(key);
  std::vector<KnownKey> known = known_keys();
  const std::string home = nearest_config_section(section);
  std::stable_partition(known.begin(), known.end(), [&](const KnownKey& other) { return other.section == home; });
  std::vector<std::string_view> keys;
  for (const KnownKey& other : known) keys.push_back(other.key);
  const KnownKey& nearest = known[std::ranges::find(keys, nearest_name(key, keys)) - keys.begin()];
  return nearest.section + "." + nearest.key;
}

std::vector<ConfigKey> config_keys() {
  std::vector<ConfigKey> keys;
  for_each_section(
      [&](const ConfigEntry& entry) {
        keys.push_back({entry.name(),
                        entry.key.type(),
                        entry.key.help,
                        command_line_text(entry.key.default_value),
                        allowed_words(entry.key),
                        {}});
      },
      [&](const std::string& section) {
        for (const std::string& name : own_keys(section)) keys.push_back(own_config_key(section, name));
        if (section != "task") return;
        for (const ConfigEntry& entry : shared_task_entries(kAnyTask)) {
          keys.push_back(
              {entry.name(), entry.key.type(), entry.key.help, command_line_text(entry.key.default_value), {}, {}});
        }
      });
  return keys;
}

}  // namespace tapeformer
