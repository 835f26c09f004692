// The mark of a position whose prediction is not scored. Batches of data write it, the loss reads it.
#pragma once

#include <cstdint>

namespace tapeformer {

// A target with this value has loss 0 and gradient 0. (PyTorch calls it ignore_index.)
inline constexpr std::int32_t kIgnoredTarget = -1;

}  // namespace tapeformer
