// What transform_heads and packed_self_attention share (head_transform.cpp).
#pragma once

#include "autograd/ops/attention/attention.h"
#include "autograd/tape/grad_slot.h"

namespace tapeformer {

// Throws Error naming `op` when the weight or the rotation does not fit the heads of width d of x (B, T, …).
void check_transform(const char* op, const Tensor& x, std::int64_t d, const Variable& weight, const HeadTransform& how);
// The same with contiguous tensors, as the two functions below take it.
HeadTransform dense(HeadTransform how);

// Tensors (B, T, h·d), of which each may be a part of wider rows; the weight (d) is undefined where there is no norm.
void transform_rows(const Tensor& y, const Tensor& x, const Tensor& weight, std::int64_t heads,
                    const HeadTransform& how);
// dx holds the gradient of transform_rows()'s result and becomes that of x; dweight gets its own where it is needed.
void transform_rows_backward(const Tensor& dx, GradSlot& dweight, const Tensor& x, const Tensor& weight,
                             std::int64_t heads, const HeadTransform& how);

}  // namespace tapeformer
