// Helpers of ops that broadcast two inputs.
#pragma once

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/views.h"

namespace tapeformer {

// Calls kernel(y, a, b, n) on contiguous arrays of two tensors of the same sizes; returns y.
template <class Kernel>
Tensor map_pair(const char* op, const Tensor& a, const Tensor& b, Kernel&& kernel) {
  check(a.dtype() == b.dtype(), op, ": a is ", a.dtype(), ", b is ", b.dtype());
  const Tensor right = b.contiguous();
  return map(op, a, [&](auto* y, const auto* x, std::int64_t n) {
    using T = std::remove_reference_t<decltype(*y)>;
    kernel(y, x, right.data<T>(), n);
  });
}

// Records the op on both inputs, expanded to their common sizes.
template <class Op>
Variable record_broadcast(const Variable& a, const Variable& b) {
  Tape& tape = common_tape(Op::kName, {&a, &b});
  const Dims sizes = broadcast_sizes(a.sizes(), b.sizes(), Op::kName);
  const auto fit = [&](const Variable& x) { return x.sizes() == sizes ? x : expand(x.on(tape), sizes); };
  return record(Op{}, fit(a), fit(b));
}

}  // namespace tapeformer
