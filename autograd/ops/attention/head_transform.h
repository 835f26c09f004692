// Functions that transform_heads and packed_self_attention share (head_transform.cpp).
#pragma once

#include "autograd/ops/attention/attention.h"
#include "autograd/tape/grad_slot.h"

namespace tapeformer {

// Throws Error naming `op` if the weight or the rotation does not fit x (B, T, …) with heads of width d.
void check_transform(const char* op, const Tensor& x, std::int64_t d, const Variable& weight, const HeadTransform& how);
// Returns `how` with contiguous tensors, which the two functions below need.
HeadTransform dense(HeadTransform how);

// Writes the transformed x to y. Both are (B, T, h·d), and each may be a slice of wider rows. The weight (d) is
// undefined if there is no norm.
void transform_rows(const Tensor& y, const Tensor& x, const Tensor& weight, std::int64_t heads,
                    const HeadTransform& how);
// dx holds the gradient of y and becomes the gradient of x. The gradient of the weight is added to dweight if it is
// needed.
void transform_rows_backward(const Tensor& dx, GradSlot& dweight, const Tensor& x, const Tensor& weight,
                             std::int64_t heads, const HeadTransform& how);

}  // namespace tapeformer
