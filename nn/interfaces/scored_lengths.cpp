#include "nn/interfaces/scored_lengths.h"

#include "core/ignored_target.h"

namespace tapeformer {

Tensor scored_lengths(const Tensor& targets) {
  const Tensor dense = targets.contiguous(), lengths = Tensor::zeros({targets.size(0)}, DType::i32);
  const std::int64_t width = targets.size(1);
  for (std::int64_t i = 0; i < dense.numel(); ++i) {
    if (dense.data<std::int32_t>()[i] != kIgnoredTarget)
      lengths.data<std::int32_t>()[i / width] = static_cast<std::int32_t>(i % width + 1);
  }
  return lengths;
}

}  // namespace tapeformer
