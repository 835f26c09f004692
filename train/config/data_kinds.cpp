#include "train/config/data_kinds.h"

#include <algorithm>

#include "train/config/shared_task_keys.h"

namespace tapeformer {

std::span<const DataKind> all_data_kinds() {
  static const DataKind kinds[] = {{{"data.text"}, {"data.valid"}},
                                   {{"data.source", "data.target"}, {"data.valid_source", "data.valid_target"}},
                                   {{"data.pairs"}, {"data.valid_pairs"}},
                                   {{"data.labels"}, {"data.valid_labels"}},
                                   {{"data.images"}, {"data.valid_images"}},
                                   {{"data.conversations"}, {"data.valid_conversations"}},
                                   {{"data.corpus"}, {}}};
  return kinds;
}

bool names_data(const Config::Data& data, std::string_view key) {
  Config config;
  config.data = data;
  const ConfigEntry entry = *find_config_entry(key, config);
  return entry.get(config) != entry.key.default_value;
}

std::vector<std::string> data_kinds(const Config::Data& data) {
  std::vector<std::string> keys;
  for (const DataKind& kind : all_data_kinds()) {
    const auto key = std::ranges::find_if(kind.training, [&](const auto& name) { return names_data(data, name); });
    if (key != kind.training.end()) keys.push_back(*key);
  }
  return keys;
}

std::string data_kind(const Config::Data& data) {
  const std::vector<std::string> kinds = data_kinds(data);
  return kinds.empty() ? "" : kinds.front();
}

std::vector<DataFilesKey> data_files_keys(const Config& config) {
  std::vector<DataFilesKey> keys;
  for (const ConfigEntry& entry : config_entries(config)) {
    if (entry.section != "data" && entry.section != kTasksSection) continue;
    const std::string name = "data." + entry.key.name.substr(entry.key.name.rfind('.') + 1);  // tasks.NAME.text too
    for (const DataKind& kind : all_data_kinds()) {
      const bool validates = std::ranges::count(kind.validation, name) > 0;
      const bool trains = name != "data.corpus" && std::ranges::count(kind.training, name) > 0;
      if (validates || trains) keys.push_back({entry, validates});
    }
  }
  return keys;
}

}  // namespace tapeformer
