#include "core/error.h"
#include "nn/formats/safetensors.h"
#include "targets.h"

namespace tapeformer::fuzz {

void safetensors(std::string_view data) {
  const MemoryFile memory(data);
  try {
    for (const auto& [name, tensor] : read_safetensors(memory.path())) {
      require(
          tensor.numel() * static_cast<std::int64_t>(size_of(tensor.dtype())) <= static_cast<std::int64_t>(data.size()),
          "a tensor is larger than its file");
    }
  } catch (const Error&) {
  }
}

}  // namespace tapeformer::fuzz
