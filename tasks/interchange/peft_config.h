// adapter_config.json of PEFT's folders: the settings of adapters (LoRA).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tapeformer {

// What adapter_config.json says.
struct PeftConfig {
  double alpha = 8, dropout = 0;
  bool by_root = false;                                     // the scale is alpha / √rank (use_rslora)
  std::vector<std::pair<std::string, double>> alphas = {};  // of modules that differ, by the ends of their paths

  // Returns the scale of a module's adapter, whose rank is that of its tensors.
  double scale(const std::string& path, std::int64_t module_rank) const;
};

// Reads the settings. Throws Error that names the file and the key, for a value of another type and for adapters that
// are no LoRA, or for which PEFT changes other weights too.
PeftConfig read_peft_config(const std::filesystem::path& path);

}  // namespace tapeformer
