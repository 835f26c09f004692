// Ops of one input that two kernels describe, forward(y, x, n) and backward(dx, dy, kept, beta, n) for arrays of n
// elements. The templates differ in what is kept for backward.
#pragma once

#include <algorithm>
#include <cstddef>

#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {

// The name of an op as an argument of a template.
template <std::size_t kSize>
struct OpName {
  char text[kSize];
  consteval OpName(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }  // NOLINT
};

// Writes a gradient with backward(dx, dy, kept, beta, n).
void write_unary_gradient(GradSlot& dx, const Tensor& dy, const Tensor& kept, auto backward) {
  write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
    backward(out, g.data<T>(), kept.data<T>(), beta, g.numel());
  });
}

// Keeps its input, as it is: another op may keep the same tensor.
template <OpName kText, auto kForward, auto kBackward>
struct SavesInput {
  static constexpr const char* kName = kText.text;
  Saved x;
  Tensor forward(OpContext& context, const Tensor& in) {
    x = context.save(0, in);
    return map(kName, in, kForward);
  }
  void backward(const Tensor& dy, GradSlot& dx) { write_unary_gradient(dx, dy, x.get().contiguous(), kBackward); }
};

// Keeps its input, contiguous. Ops that need its output in backward compute it again instead of keeping a copy.
template <OpName kText, auto kForward, auto kBackward>
struct RecomputesOutput {
  static constexpr const char* kName = kText.text;
  Tensor x;
  Tensor forward(OpContext& context, const Tensor& in) {
    if (context.recording()) x = in.contiguous();
    return map(kName, in, kForward);
  }
  Tensor recompute_output() const { return map(kName, x, kForward); }
  void backward(const Tensor& dy, GradSlot& dx) { write_unary_gradient(dx, dy, x, kBackward); }
};

// Keeps its output.
template <OpName kText, auto kForward, auto kBackward>
struct KeepsOutput {
  static constexpr const char* kName = kText.text;
  Tensor y;
  Tensor forward(OpContext& context, const Tensor& in) {
    const Tensor out = map(kName, in, kForward);
    if (context.recording()) y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSlot& dx) { write_unary_gradient(dx, dy, y, kBackward); }
};

}  // namespace tapeformer
