#include "train/config/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "train/config/config_table.h"

namespace tapeformer {

namespace {

const char* expected_text(ConfigType type) {
  switch (type) {
    case ConfigType::integer:
      return "a whole number";
    case ConfigType::number:
      return "a number";
    case ConfigType::boolean:
      return "true or false";
    case ConfigType::string:
      return "a string";
    case ConfigType::list:
      break;
  }
  return "a string or a list of strings";
}

std::string describe(const toml::node& node) {
  if (const auto* value = node.as_string()) return "the string " + format_config_value(value->get());
  if (const auto* value = node.as_integer()) return "the whole number " + format_config_value(value->get());
  if (const auto* value = node.as_floating_point()) return "the number " + format_config_value(value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "the boolean true" : "the boolean false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a section" : "a date or time";
}

// The node as a value of the wanted type, if it is one.
std::optional<ConfigValue> convert(const toml::node& node, ConfigType type) {
  switch (type) {
    case ConfigType::integer:
      if (const auto* value = node.as_integer()) return value->get();
      break;
    case ConfigType::number:
      if (const auto value = node.value<double>(); value && node.is_number()) return *value;
      break;
    case ConfigType::boolean:
      if (const auto* value = node.as_boolean()) return value->get();
      break;
    case ConfigType::string:
      if (const auto* value = node.as_string()) return value->get();
      break;
    case ConfigType::list: {
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

template <class Number>
std::optional<ConfigValue> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::optional<ConfigValue> convert(const std::string& text, ConfigType type) {
  switch (type) {
    case ConfigType::integer:
      return parse_number<std::int64_t>(text);
    case ConfigType::number:
      return parse_number<double>(text);
    case ConfigType::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      return std::nullopt;
    case ConfigType::string:
      return text;
    case ConfigType::list:
      break;
  }
  return split_commas(text);
}

// A value's text without TOML's quotes and brackets, as apply_override() takes it.
std::string command_line_text(const ConfigValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    std::string out;
    for (const std::string& item : *items) out += (out.empty() ? "" : ",") + item;
    return out;
  }
  return format_config_value(value);
}

void read_section(Config& config, const std::string& section, const toml::table& table, const std::string& origin) {
  for (auto&& [key, node] : table) {
    const std::string where = str_cat(origin, ":", key.source().begin.line, ": ");
    const ConfigEntry* entry = find_config_entry(section, key.str());
    if (entry == nullptr) {
      fail_usage(where, "unknown key ", section, ".", key.str(), ": did you mean ",
                 nearest_config_name(section, key.str()), "?");
    }
    auto value = convert(node, entry->type());
    if (!value) {
      fail_usage(where, entry->name(), ": expected ", expected_text(entry->type()), ", got ", describe(node));
    }
    check_config_value(*entry, *value, where);
    entry->set(config, std::move(*value));
  }
}

toml::table parse_toml(std::string_view text, const std::string& origin) {
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    fail_usage(origin, ":", error.source().begin.line, ": ", error.description());
  }
}

}  // namespace

Config parse_config(std::string_view text, const std::string& origin) {
  Config config;
  for (auto&& [key, node] : parse_toml(text, origin)) {
    const std::string where = str_cat(origin, ":", key.source().begin.line, ": ");
    const std::string section(key.str());
    if (!is_config_section(section)) {
      if (!node.is_table()) {
        fail_usage(where, "unknown key ", section, ": did you mean ", nearest_config_name("", section), "?");
      }
      fail_usage(where, "unknown section [", section, "]: did you mean [", nearest_config_section(section), "]?");
    }
    if (!node.is_table()) fail_usage(where, "expected a section [", section, "], got ", describe(node));
    read_section(config, section, *node.as_table(), origin);
  }
  return config;
}

Config load_config(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_config(file.bytes(), path.string());
}

void apply_override(Config& config, std::string_view name, std::span<const std::string> values) {
  const std::size_t dot = name.find('.');
  const std::string_view section = dot == name.npos ? "" : name.substr(0, dot);
  const std::string_view key = dot == name.npos ? name : name.substr(dot + 1);
  const ConfigEntry* entry = find_config_entry(section, key);
  if (entry == nullptr) {
    fail_usage("unknown key ", name, ": did you mean ", nearest_config_name(section, key), "?");
  }
  const bool is_list = entry->type() == ConfigType::list;
  if (values.size() != 1 && !is_list) fail_usage(name, ": expected one value, got ", values.size());
  ConfigValue all = std::vector<std::string>();
  for (const std::string& text : values) {
    auto value = convert(text, entry->type());
    if (!value) fail_usage(name, ": expected ", expected_text(entry->type()), ", got ", format_config_value(text));
    check_config_value(*entry, *value, "");
    if (is_list) {
      auto& items = std::get<std::vector<std::string>>(all);
      for (std::string& item : std::get<std::vector<std::string>>(*value)) items.push_back(std::move(item));
    } else {
      all = std::move(*value);
    }
  }
  entry->set(config, std::move(all));
}

void apply_override(Config& config, std::string_view name, const std::string& value) {
  apply_override(config, name, std::span(&value, 1));
}

std::string to_toml(const Config& config) {
  constexpr std::size_t kHelpColumn = 28;
  std::string out;
  std::string section;
  for (const ConfigEntry& entry : config_table()) {
    if (entry.section != section) {
      out += str_cat(section.empty() ? "" : "\n", "[", entry.section, "]\n");
      section = entry.section;
    }
    std::string line = entry.key + " = " + format_config_value(entry.get(config));
    line.resize(std::max(line.size() + 1, kHelpColumn), ' ');
    line += "# " + entry.help;
    if (const auto* words = std::get_if<std::vector<std::string>>(&entry.allowed)) {
      for (const std::string& word : *words) line += (&word == &words->front() ? ": " : ", ") + word;
    }
    out += line + "\n";
  }
  return out;
}

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> out;
    for (const ConfigEntry& entry : config_table()) {
      const auto* words = std::get_if<std::vector<std::string>>(&entry.allowed);
      out.push_back({entry.name(), entry.type(), entry.help, command_line_text(entry.get(Config{})),
                     words ? *words : std::vector<std::string>{}});
    }
    return out;
  }();
  return keys;
}

}  // namespace tapeformer
