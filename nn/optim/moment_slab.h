// The moments of optimizers, and the key that says in which format they are kept.
#pragma once

#include <vector>

#include "autograd/kernels/optim/reduced_state.h"
#include "autograd/tensor/tensor.h"
#include "core/keys.h"

namespace tapeformer {

using kernels::StateFormat;

template <>
struct Words<StateFormat> {
  static constexpr std::pair<StateFormat, std::string_view> list[] = {
      {StateFormat::f32, "f32"}, {StateFormat::bf16, "bf16"}, {StateFormat::int8, "int8"}};
};

// Returns the key `state`, for optimizers that can keep their moments in every format.
Key state_key();
// Returns the format that the options of an optimizer name; f32 if the optimizer has no such key.
StateFormat state_format(const KeyValues& options);

// One moment of the parameters of a slab, or of some of them, one after another; initially zero.
struct MomentSlab {
  StateFormat format = StateFormat::f32;
  bool has_sign = true;
  // The numbers. Their dtype is the slab's with StateFormat::f32, bf16 with bf16, and u8 with int8, where they are
  // codes. Undefined if the optimizer does not keep this moment.
  Tensor values;
  Tensor scales;                            // with int8: f32, one for each block
  std::vector<kernels::StateRange> ranges;  // where each parameter is in the slab and in this moment

  bool is_reduced() const { return format != StateFormat::f32; }
  // Returns the moment as the kernels take it. Requires is_reduced().
  kernels::ReducedState reduced() const;
};

}  // namespace tapeformer
