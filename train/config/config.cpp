#include "train/config/config.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "train/config/config_table.h"
#include "train/config/data_kinds.h"
#include "train/config/idle_keys.h"
#include "train/config/key_text.h"
#include "train/config/other_names.h"
#include "train/config/shared_task_keys.h"
#include "train/config/toml_text.h"

namespace tapeformer {

namespace {

std::string describe(const toml::node& node) {
  if (const auto* value = node.as_string()) return "the string " + format_key_value(value->get());
  if (const auto* value = node.as_integer()) return "the whole number " + format_key_value(value->get());
  if (const auto* value = node.as_floating_point()) return "the number " + format_key_value(value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "the boolean true" : "the boolean false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a section" : "a date or time";
}

// Returns the node as a value of the wanted type, if it is one.
std::optional<KeyValue> convert(const toml::node& node, KeyType type) {
  switch (type) {
    case KeyType::integer:
      if (const auto* value = node.as_integer()) return value->get();
      break;
    case KeyType::number:
      if (const auto value = node.value<double>(); value && node.is_number()) return *value;
      break;
    case KeyType::boolean:
      if (const auto* value = node.as_boolean()) return value->get();
      break;
    case KeyType::string:
      if (const auto* value = node.as_string()) return value->get();
      break;
    case KeyType::list: {
      if (const auto* value = node.as_string()) return std::vector<std::string>{value->get()};
      const auto* array = node.as_array();
      if (array == nullptr) break;
      std::vector<std::string> items;
      for (const toml::node& item : *array) {
        if (!item.is_string()) return std::nullopt;
        items.push_back(item.as_string()->get());
      }
      return items;
    }
  }
  return std::nullopt;
}

// Returns the node as a value of the key. Instead of a number the file may have one of the key's words (Key::words),
// and a key whose words include "true" and "false" also takes a boolean.
std::optional<KeyValue> convert(const toml::node& node, const Key& key) {
  if (const auto* text = node.as_string(); text && !key.words.empty()) return parse_key_value(text->get(), key);
  if (const auto* value = node.as_boolean(); value && key.type() == KeyType::string) {
    const std::string word = value->get() ? "true" : "false";
    if (std::ranges::count(allowed_words(key), word) > 0) return word;
  }
  return convert(node, key.type());
}

// These keys name a row of a registry; the other keys of their sections belong to that row.
constexpr std::pair<std::string_view, std::string_view> kRowNames[] = {{"model", "type"}, {"optimizer", "name"}};

bool names_row(std::string_view section, std::string_view key) {
  return std::ranges::count(kRowNames, std::pair(section, key)) > 0;
}

// Reads a file's tables into a configuration.
class Reader {
 public:
  explicit Reader(const std::string& origin) : origin_(origin) {}

  Config read(const toml::table& file) {
    // These keys come first, because they decide which other keys their sections have.
    for (const auto& [section, key] : kRowNames) {
      if (const auto row = file[section][key]; row) read_key(section, key, *row.node());
    }
    config_.model.type_is_given = static_cast<bool>(file["model"]["type"]);
    for (auto&& [key, node] : file) {
      if (key.str() == "derived") {
        read_derived(node);
      } else {
        read_section(std::string(key.str()), where(key), node);
      }
    }
    return std::move(config_);
  }

 private:
  template <class Place>
  std::string where(const Place& place) const {
    return str_cat(origin_, ":", place.source().begin.line, ": ");
  }

  void read_section(const std::string& section, const std::string& place, const toml::node& node) {
    if (!is_config_section(section)) {
      if (!node.is_table()) {
        fail_usage(place, "unknown key ", section, ": did you mean ", nearest_config_name("", section), "?");
      }
      fail_usage(place, "unknown section [", section, "]: did you mean [", nearest_config_section(section), "]?");
    }
    if (!node.is_table()) fail_usage(place, "expected a section [", section, "], got ", describe(node));
    for (auto&& [key, value] : *node.as_table()) {
      read_dotted(section, std::string(key.str()), value, where(key));
    }
  }

  // Reads a key, or the keys of a table in a section, whose names have a dot: [train] lora.rank, or [train.lora] rank.
  void read_dotted(const std::string& section, const std::string& key, const toml::node& node,
                   const std::string& place) {
    if (names_row(section, key)) return;
    if (!node.is_table() || find_config_entry(section, key, config_)) return read_key(section, key, node, place);
    if (section == kTasksSection) config_.tasks.try_emplace(key);  // also adds a task whose table has no keys
    for (auto&& [inner, value] : *node.as_table()) {
      read_dotted(section, str_cat(key, ".", inner.str()), value, where(inner));
    }
  }

  void read_key(std::string_view section, std::string_view key, const toml::node& node) {
    read_key(section, key, node, where(node));
  }

  void read_key(std::string_view section, std::string_view key, const toml::node& node, const std::string& place) {
    const auto entry = find_config_entry(section, key, config_);
    if (!entry) {
      fail_usage(place, "unknown key ", section, ".", key, ": did you mean ", nearest_config_name(section, key), "?");
    }
    auto value = convert(node, entry->key);
    if (!value) {
      fail_usage(place, entry->name(), ": expected ", expected_text(entry->key), ", got ", describe(node));
    }
    check_key_value(entry->name(), entry->key, *value, place);
    if (!names_.insert(entry->name()).second) {  // TOML itself refuses a name that is written twice alike
      fail_usage(place, entry->name(), ": expected one value, got two, by two ways to write the name");
    }
    entry->set(config_, std::move(*value));
  }

  void read_derived(const toml::node& node) {
    const auto names = convert(node, KeyType::list);
    if (!names) fail_usage(where(node), "derived: expected ", expected_text(KeyType::list), ", got ", describe(node));
    config_.derived = std::get<std::vector<std::string>>(*names);
    for (const std::string& name : *config_.derived) {
      const auto entry = find_config_entry(name, config_);
      if (!entry || entry->key.follows.empty()) {
        fail_usage(where(node), "derived: expected keys whose defaults follow other keys, got ",
                   format_key_value(name));
      }
    }
  }

  std::string origin_;
  Config config_;
  std::set<std::string> names_;  // of the keys that were read, as they are called now
};

// Returns whether the command line gives a value for the key that is not empty.
bool gives_value(const ConfigOverrides& overrides, const std::string& name) {
  return has_override(overrides, name) && overrides.at(name) != std::vector<std::string>{""};
}

// Sets the key to its default unless the key is among the overrides. If its value changes, adds a line about the old
// value to `notes`.
void replace_data_key(Config& config, const std::string& name, const std::string& by, const ConfigOverrides& overrides,
                      std::vector<std::string>& notes) {
  const ConfigEntry entry = *find_config_entry(name, config);
  const KeyValue value = entry.get(config);
  if (gives_value(overrides, name) || value == entry.key.default_value) return;
  notes.push_back(str_cat(by, " replaces ", name, " = ", command_line_text(value)));
  entry.set(config, entry.key.default_value);
}

}  // namespace

Config parse_config(std::string_view text, const std::string& origin) {
  return Reader(origin).read(parse_toml(text, origin));
}

Config load_config(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  try {
    return parse_config(text, path.string());
  } catch (const UsageError& error) {
    if (path.extension() == ".toml") throw;
    fail_usage(error.what(), " (a text to train on is named by --data.text)");
  }
}

namespace {

// Adds the names of all keys in the table and in the tables in it: "train.lora.rank".
void add_names(const std::string& prefix, const toml::table& table, std::set<std::string>& names) {
  for (auto&& [key, value] : table) {
    const std::string name = str_cat(prefix, ".", key.str());
    if (value.is_table()) {
      add_names(name, *value.as_table(), names);
    } else {
      const auto* const renamed = std::ranges::find(kRenamedKeys, std::string_view(name), &RenamedKey::former);
      names.emplace(renamed == std::end(kRenamedKeys) ? std::string_view(name) : renamed->name);
    }
  }
}

}  // namespace

std::set<std::string> keys_given_in(const std::filesystem::path& path) {
  std::set<std::string> names;
  for (auto&& [section, node] : parse_toml(read_file(path), path.string())) {
    if (!node.is_table()) continue;
    add_names(std::string(section.str()), *node.as_table(), names);
  }
  return names;
}

void apply_override(Config& config, std::string_view name, std::span<const std::string> values) {
  const auto entry = find_config_entry(name, config);
  if (!entry) {
    const auto [section, key] = split_name(name);
    fail_usage("unknown key ", name, ": did you mean ", nearest_config_name(section, key), "?");
  }
  const KeyType type = entry->key.type();
  const bool is_list = type == KeyType::list;
  if (values.size() != 1 && !is_list) fail_usage(name, ": expected one value, got ", values.size());
  KeyValue all = std::vector<std::string>();
  for (const std::string& text : values) {
    auto value = parse_key_value(text, entry->key);
    if (!value) fail_usage(name, ": expected ", expected_text(entry->key), ", got ", format_key_value(text));
    check_key_value(entry->name(), entry->key, *value, "");
    if (is_list) {
      auto& items = std::get<std::vector<std::string>>(all);
      for (std::string& item : std::get<std::vector<std::string>>(*value)) items.push_back(std::move(item));
    } else {
      all = std::move(*value);
    }
  }
  entry->set(config, std::move(all));
  if (config.derived) std::erase(*config.derived, name);
}

void apply_override(Config& config, std::string_view name, const std::string& value) {
  apply_override(config, name, std::span(&value, 1));
}

bool has_override(const ConfigOverrides& overrides, std::string_view key) {
  const auto found = overrides.find(std::string(key));
  return found != overrides.end() && !found->second.empty();
}

std::vector<std::string> apply_overrides(Config& config, const ConfigOverrides& overrides) {
  std::vector<std::string> notes;
  for (const auto& [section, key] : kRowNames) {
    const auto row = overrides.find(str_cat(section, ".", key));
    if (row != overrides.end() && !row->second.empty()) apply_override(config, row->first, row->second);
  }
  if (gives_value(overrides, "model.type")) config.model.type_is_given = true;
  if (gives_value(overrides, "optimizer.name")) {
    for (const auto& [name, value] : remove_foreign_options(config.optimizer)) {
      if (!gives_value(overrides, name)) {
        notes.push_back(str_cat("optimizer.name replaces ", name, " = ", command_line_text(value)));
      }
    }
  }
  for (const auto& [name, values] : overrides) {
    if (!values.empty()) apply_override(config, name, values);
  }
  for (const DataKind& kind : all_data_kinds()) {
    const auto by = std::ranges::find_if(kind.training, [&](const auto& name) { return gives_value(overrides, name); });
    if (by == kind.training.end()) continue;
    for (const DataKind& other : all_data_kinds()) {
      if (&other == &kind) continue;
      for (const std::string& name : other.training) replace_data_key(config, name, *by, overrides, notes);
      for (const std::string& name : other.validation) replace_data_key(config, name, *by, overrides, notes);
    }
  }
  for (const IdleKey& idle : idle_keys(config)) {
    const std::string name = idle.entry.name();
    if (!gives_value(overrides, idle.switch_key) || gives_value(overrides, name)) continue;
    notes.push_back(str_cat(idle.switch_key, " replaces ", name, " = ", command_line_text(idle.entry.get(config))));
    idle.entry.set(config, idle.expected);
  }
  return notes;
}

namespace {

// The first line of to_toml() begins with this; the checksum of the lines after it follows.
constexpr std::string_view kChecksum = "# checksum ";

}  // namespace

bool has_checksum(std::string_view toml) { return toml.starts_with(kChecksum); }

bool is_unchanged(std::string_view toml) {
  const std::size_t end = toml.find('\n');
  return has_checksum(toml) && end != toml.npos &&
         toml.substr(kChecksum.size()).starts_with(to_hex(hash_bytes(toml.substr(end + 1))));
}

std::string to_toml(const ResolvedConfig& config) {
  constexpr std::size_t kHelpColumn = 28;
  const Config& values = config.values();
  std::string out =
      "# The complete configuration of a run. The values of the keys in `derived` follow other keys: they are worked "
      "out\n"
      "# again when those change. To keep such a value as it is, take its key out of the list.\n";
  out += "derived = " + format_key_value(*values.derived) + "\n";
  std::string section;
  for (const ConfigEntry& entry : config_entries(values)) {
    if (entry.section != section) {
      out += str_cat("\n[", entry.section, "]\n");
      section = entry.section;
    }
    std::string line = entry.key.name + " = " + format_key_value(entry.get(values));
    line.resize(std::max(line.size() + 1, kHelpColumn), ' ');
    line += "# " + entry.key.help;
    std::string words;
    for (const std::string& word : allowed_words(entry.key)) {
      if (word != kAuto) words += (words.empty() ? ": " : ", ") + word;
    }
    out += line + words + "\n";
  }
  return str_cat(kChecksum, to_hex(hash_bytes(out)), " of what follows: train --resume asks about changes by hand\n",
                 out);
}

}  // namespace tapeformer
