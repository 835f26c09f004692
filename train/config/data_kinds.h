// The kinds of training data, of which a configuration names one: text, parallel text, labelled text, …
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"
#include "train/config/config_table.h"

namespace tapeformer {

// The keys that name training data of this kind, and the keys of its validation data.
struct DataKind {
  std::vector<std::string> training, validation;
};
// Returns all kinds; each key belongs to one of them.
std::span<const DataKind> all_data_kinds();

// Returns whether a configuration gives a value for this key of a kind of data ("data.text"), all of which are empty by
// default.
bool names_data(const Config::Data& data, std::string_view key);
// Returns the first key of each kind of training data that a configuration names, such as "data.text".
std::vector<std::string> data_kinds(const Config::Data& data);
// Returns the first of them; "" if there is none. A resolved configuration names one at most.
std::string data_kind(const Config::Data& data);

// A key that names files of data: of training or, if it `validates`, of validation.
struct DataFilesKey {
  ConfigEntry entry;
  bool validates;
};
// Returns all such keys of [data], and those of the configuration's tasks ([tasks.NAME]).
std::vector<DataFilesKey> data_files_keys(const Config& config);

}  // namespace tapeformer
