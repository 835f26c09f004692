#include "nn/optim/moment_slab.h"

namespace tapeformer {

Key state_key() {
  return word_key(
      "state", StateFormat::f32,
      "format of the moments: f32, bf16, or int8 = 8 bits and a scale for each 256 (both rounded at random)");
}

StateFormat state_format(const KeyValues& options) {
  return options.has("state") ? options.word<StateFormat>("state") : StateFormat::f32;
}

kernels::ReducedState MomentSlab::reduced() const {
  const bool is_bf16 = format == StateFormat::bf16;
  return {.format = format,
          .has_sign = has_sign,
          .halves = is_bf16 ? values.data<kernels::Bf16>() : nullptr,
          .codes = is_bf16 ? nullptr : values.data<std::uint8_t>(),
          .scales = is_bf16 ? nullptr : scales.data<float>()};
}

}  // namespace tapeformer
