// From the configuration's words to the model's types.
#pragma once

#include "nn/models/gpt.h"
#include "train/config.h"

namespace tapeformer {

// The decoder-only model of a resolved configuration. Throws UsageError when model.type is another.
GptConfig gpt_config(const Config& config, std::int64_t vocab);

}  // namespace tapeformer
