// What the tests of the configuration share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "train/config/config.h"

namespace tapeformer {

inline Config parse(const std::string& text) { return parse_config(text, "x.toml"); }

// Overrides from "key=value".
inline ConfigOverrides overrides_of(std::initializer_list<std::string> texts) {
  ConfigOverrides overrides;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    overrides[text.substr(0, equals)].push_back(text.substr(equals + 1));
  }
  return overrides;
}

inline ResolvedConfig resolved(std::initializer_list<std::string> overrides) {
  Config config;
  apply_overrides(config, overrides_of(overrides));
  return resolve(config);
}

// "a, b or c"
inline std::string choice_of_families() {
  std::string text;
  for (const ModelFamily& family : model_families()) {
    if (!text.empty()) text += &family == &model_families().back() ? " or " : ", ";
    text += family.name;
  }
  return text;
}

inline bool is_derived(const ResolvedConfig& config, const std::string& name) {
  return std::ranges::count(*config.values().derived, name) > 0;
}

inline void check_parse_error(const std::string& text, const std::string& message) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(parse(text), message.c_str(), UsageError);
}

inline void check_override_error(const std::string& name, const std::string& value, const std::string& message) {
  Config config;
  CHECK_THROWS_WITH_AS(apply_override(config, name, value), message.c_str(), UsageError);
  CHECK(config == Config{});
}

inline void check_invalid(std::initializer_list<std::string> overrides, const std::string& message) {
  CHECK_THROWS_WITH_AS(resolved(overrides), message.c_str(), UsageError);
}

}  // namespace tapeformer
