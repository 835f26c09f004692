#include "train/config/key_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/text/joined.h"
#include "core/text/parse_number.h"
#include "core/text/split_at.h"
#include "core/text/utf8.h"

namespace tapeformer {

namespace {

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view item : split_at(text, ',')) {
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

std::string range_text(const KeyRange& range) {
  const char* const before = range.or_minus_one ? "-1 or " : "";
  if (std::isinf(range.max)) return str_cat(before, "value ", range.excludes_min ? "> " : ">= ", range.min);
  return str_cat(before, range.min, range.excludes_min ? " < " : " <= ", "value",
                 range.excludes_max ? " < " : " <= ", static_cast<std::int64_t>(range.max));
}

bool contains(const KeyRange& range, double value) {
  if (range.or_minus_one && value == -1) return true;
  return (range.excludes_min ? value > range.min : value >= range.min) &&
         (range.excludes_max ? value < range.max : value <= range.max);
}

// JSON's escapes are valid in TOML too; but TOML requires DEL to be escaped, and JSON does not.
std::string quoted(const std::string& text) {
  const std::string json = dump_json(nlohmann::json(text));
  if (find_invalid_utf8(text) != text.npos) fail_usage("configuration: expected text in UTF-8, got ", json);
  std::string out;
  for (const char c : json) c == '\x7f' ? out += "\\u007F" : out += c;
  return out;
}

std::string format_double(double value) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // a whole number, not inf or nan
  return text;
}

// Returns "a, b or c".
std::string alternatives(const std::vector<std::string>& choices) {
  std::string text;
  for (const std::string& choice : choices) {
    if (!text.empty()) text += &choice == &choices.back() ? " or " : ", ";
    text += choice;
  }
  return text;
}

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

const char* expected_text(KeyType type) {
  switch (type) {
    case KeyType::integer:
      return "a whole number";
    case KeyType::number:
      return "a number";
    case KeyType::boolean:
      return "true or false";
    case KeyType::string:
      return "a string";
    case KeyType::list:
      break;
  }
  return "a string or a list of strings";
}

std::string expected_text(const Key& key) {
  std::vector<std::string> choices{expected_text(key.type())};
  for (const auto& word : key.words) choices.push_back(word.first);
  return alternatives(choices);
}

std::optional<KeyValue> parse_key_value(const std::string& text, KeyType type) {
  switch (type) {
    case KeyType::integer:
      return parse_number<std::int64_t>(text);
    case KeyType::number:
      return parse_number<double>(text);
    case KeyType::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      return std::nullopt;
    case KeyType::string:
      return text;
    case KeyType::list:
      break;
  }
  return split_commas(text);
}

std::optional<KeyValue> parse_key_value(const std::string& text, const Key& key) {
  for (const auto& [word, value] : key.words) {
    if (text == word) return value;
  }
  return parse_key_value(text, key.type());
}

std::string command_line_text(const KeyValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) return joined(*items, ",");
  return format_key_value(value);
}

std::string value_text(const KeyValue& value) {
  const std::string text = command_line_text(value);
  return text.empty() ? "none" : text;
}

std::vector<std::string> texts_of(const KeyValue& value) {
  if (const auto* const list = std::get_if<std::vector<std::string>>(&value)) return *list;
  const auto* const text = std::get_if<std::string>(&value);
  return text && !text->empty() ? std::vector{*text} : std::vector<std::string>();
}

std::string format_key_value(const KeyValue& value) {
  switch (static_cast<KeyType>(value.index())) {
    case KeyType::integer:
      return std::to_string(std::get<std::int64_t>(value));
    case KeyType::number:
      return format_double(std::get<double>(value));
    case KeyType::boolean:
      return std::get<bool>(value) ? "true" : "false";
    case KeyType::string:
      return quoted(std::get<std::string>(value));
    case KeyType::list:
      break;
  }
  return "[" + joined(std::get<std::vector<std::string>>(value), ", ", quoted) + "]";
}

void check_key_value(const std::string& name, const Key& key, const KeyValue& value, const std::string& where) {
  const auto refuse = [&](const std::string& expected) {
    fail_usage(where, name, ": expected ", expected, ", got ", format_key_value(value));
  };
  if (value.index() != key.default_value.index()) refuse(expected_text(key.type()));
  if (const double* number = std::get_if<double>(&value); number && !std::isfinite(*number)) refuse("a finite number");
  if (const auto* range = std::get_if<KeyRange>(&key.allowed)) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (!contains(*range, integer ? static_cast<double>(*integer) : std::get<double>(value))) {
      refuse(range_text(*range));
    }
  }
  const std::vector<std::string> words = allowed_words(key);
  if (words.empty() || std::ranges::count(words, std::get<std::string>(value))) return;
  refuse(alternatives(words));
}

std::vector<std::string> allowed_words(const Key& key) {
  const auto* words = std::get_if<std::vector<std::string>>(&key.allowed);
  return words ? *words : std::vector<std::string>{};
}

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
