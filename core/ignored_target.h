// The target of a position whose prediction is not scored. Batches of data contain it, the loss skips it.
#pragma once

#include <cstdint>

namespace tapeformer {

// A target with this value has loss 0 and gradient 0. (PyTorch calls it ignore_index.)
inline constexpr std::int32_t kIgnoredTarget = -1;

}  // namespace tapeformer
