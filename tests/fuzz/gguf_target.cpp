#include "core/error.h"
#include "nn/formats/gguf.h"
#include "targets.h"

namespace tapeformer::fuzz {

void gguf(std::string_view data) {
  const MemoryFile memory(data);
  try {
    const GgufFile file(memory.path());
    for (const auto& [name, sizes] : file.tensors()) {
      // A byte has two values at most: of Q4_0 and Q4_K.
      require(sizes.product() / 2 <= static_cast<std::int64_t>(data.size()), "a tensor is larger than its file");
      require(file.read(name).sizes() == sizes, "a tensor has other sizes");
    }
  } catch (const Error&) {
  }
}

}  // namespace tapeformer::fuzz
