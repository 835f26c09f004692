// Models in GGUF files, the format of llama.cpp: the architectures gpt2, llama, qwen2 and qwen3.
#pragma once

#include "tasks/interchange/published_model.h"

namespace tapeformer {

PublishedFormat gguf_format();

}  // namespace tapeformer
