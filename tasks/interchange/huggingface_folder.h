// Folders of Hugging Face: config.json, model.safetensors and tokenizer.json.
#pragma once

#include "tasks/interchange/published_model.h"

namespace tapeformer {

PublishedFormat huggingface_format();

}  // namespace tapeformer
