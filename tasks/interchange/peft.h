// Adapters in the files of PEFT, the library of Hugging Face: adapter_config.json and adapter_model.safetensors.
#pragma once

#include <filesystem>

#include "tasks/interchange/published_model.h"

namespace tapeformer {

PublishedFormat peft_format();

// Whether the path leads to a folder of adapters.
bool is_adapter_folder(const std::filesystem::path& path);

// Makes a run with the model of `base` and the adapters in `folder`. If their ranks differ, all get the largest rank,
// padded with zeros. The run has the chat template in `folder`, if there is one, else that of the base. Throws Error
// for adapters that do not fit the model, or for kinds of them that are not supported; then `out` is no run.
RunFolder import_adapters(const std::filesystem::path& folder, const RunSelection& base,
                          const std::filesystem::path& out);

}  // namespace tapeformer
