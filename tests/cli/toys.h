// Tiny configurations of every task and family, each of which learns a little in a second.
#pragma once

#include <map>
#include <string>
#include <vector>

struct ToyConfig {
  std::string name;
  std::string data;                             // the kind of data that it trains on: text, pairs, labels or shapes
  std::map<std::string, std::string> sections;  // the lines of the sections of its own; others are common to all

  // The text of its configuration file.
  std::string toml() const;
};

const std::vector<ToyConfig>& toy_configs();
const ToyConfig& find_toy(const std::string& name);
