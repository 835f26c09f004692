#include "autograd/ops/attention/head_transform.h"

#include <cmath>
#include <vector>

#include "autograd/kernels/attention/head_transform.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {
namespace {

// Returns the distance between the beginnings of the B·T rows of x (B, T, …), in elements.
std::int64_t distance_of(const Tensor& x) { return x.layout().strides[x.size(1) > 1 ? 1 : 0]; }

template <class T>
kernels::HeadTransform<T> kernel_transform(const Tensor& x, const Tensor& weight, std::int64_t heads,
                                           const HeadTransform& how) {
  const Rotation& rotation = how.rotation;
  return {.rows = x.size(0) * x.size(1),
          .heads = heads,
          .dim = x.size(2) / heads,
          .weight = data_or_null<T>(weight),
          .eps = static_cast<T>(how.norm_eps),
          .rotations = data_or_null<T>(rotation.table),
          .positions = data_or_null<std::int32_t>(rotation.positions),
          .period = x.size(1),
          .pairs = rotation.pairs};
}

// For each head, with x̂ = x/√(mean x² + ε) and n = weight·x̂ (n = x without a weight):
//   y_a = n_a cos_i − n_b sin_i,  y_b = n_a sin_i + n_b cos_i   for the elements a and b of pair i
//   dn_a = dy_a cos_i + dy_b sin_i,  dn_b = −dy_a sin_i + dy_b cos_i
//   dx = (dn·weight − x̂·mean(dn·weight·x̂))/√(mean x² + ε),  dweight = Σ_rows,heads dn·x̂
struct TransformHeads {
  static constexpr const char* kName = "transform_heads";
  std::int64_t heads;
  HeadTransform how;
  Tensor x = {}, weight = {};

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& norm_weight) {
    const Tensor rows = in.contiguous(), y = Tensor::empty(in.sizes(), in.dtype());
    if (norm_weight.defined()) weight = norm_weight.contiguous();
    transform_rows(y, rows, weight, heads, how);
    if (context.recording()) x = rows;
    return y;
  }
  Tensor recompute_output() const {
    const Tensor y = Tensor::empty(x.sizes(), x.dtype());
    transform_rows(y, x, weight, heads, how);
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dweight) {
    const Tensor g = dy.clone();
    transform_rows_backward(g, dweight, x, weight, heads, how);
    if (dx.needed()) dx.accumulate(g);
  }
};

}  // namespace

std::vector<double> rotation_angles(std::int64_t d, double base) {
  std::vector<double> angles(d / 2);
  for (std::int64_t i = 0; i < d / 2; ++i) {
    angles[i] = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(d));
  }
  return angles;
}

Tensor rotation_table(std::int64_t first, std::int64_t count, std::span<const double> angles, DType dtype) {
  const std::int64_t d = 2 * std::ssize(angles);
  const Tensor table = Tensor::empty({count, d}, dtype);
  dispatch_floating(dtype, [&]<class T>(T) {
    T* row = table.data<T>();
    for (std::int64_t k = 0; k < count; ++k, row += d) {
      for (std::int64_t i = 0; i < d / 2; ++i) {
        const double angle = static_cast<double>(first + k) * angles[i];
        row[i] = static_cast<T>(std::cos(angle)), row[d / 2 + i] = static_cast<T>(std::sin(angle));
      }
    }
  });
  return table;
}

void check_transform(const char* op, const Tensor& x, std::int64_t d, const Variable& weight,
                     const HeadTransform& how) {
  check(!weight.defined() || weight.sizes() == Dims{d}, op, ": the heads are ", d, " wide, their norm's weight is ",
        weight.sizes(), ": expected (", d, ")");
  const Dims& rows = x.sizes();
  const auto& [table, positions, pairs] = how.rotation;
  if (!table.defined()) return;
  check(d % 2 == 0, op, ": expected heads of even width to turn, got ", d);
  check(table.dtype() == x.dtype(), op, ": x is ", x.dtype(), ", the table of rotations ", table.dtype());
  check(table.rank() == 2 && table.size(1) == d && (positions.defined() || table.size(0) >= rows[1]), op, ": rows are ",
        rows, ", their heads ", d, " wide, the table of rotations is ", table.sizes(), ": expected (", rows[1], ", ", d,
        ")");
  if (!positions.defined()) return;
  check(positions.dtype() == DType::i32 && positions.sizes() == Dims{rows[0], rows[1]}, op,
        ": expected positions i32 (", rows[0], ", ", rows[1], "), got ", positions.dtype(), " ", positions.sizes());
  const Tensor each = positions.contiguous();
  for (const std::int32_t position : each.span<std::int32_t>()) {
    check(position >= 0 && position < table.size(0), op, ": expected positions of 0 to ", table.size(0) - 1, ", got ",
          position);
  }
}

HeadTransform dense(HeadTransform how) {
  auto& [table, positions, pairs] = how.rotation;
  if (table.defined()) table = table.contiguous();
  if (positions.defined()) positions = positions.contiguous();
  return how;
}

void transform_rows(const Tensor& y, const Tensor& x, const Tensor& weight, std::int64_t heads,
                    const HeadTransform& how) {
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    kernels::transform_heads_forward(y.data<T>(), distance_of(y), x.data<T>(), distance_of(x),
                                     kernel_transform<T>(x, weight, heads, how));
  });
}

void transform_rows_backward(const Tensor& dx, GradSlot& dweight, const Tensor& x, const Tensor& weight,
                             std::int64_t heads, const HeadTransform& how) {
  const GradTarget to_weight = target_or_none(dweight);
  dispatch_floating(dx.dtype(), [&]<class T>(T) {
    kernels::transform_heads_backward(dx.data<T>(), distance_of(dx), data_or_null<T>(to_weight.tensor),
                                      T(to_weight.beta), x.data<T>(), distance_of(x),
                                      kernel_transform<T>(x, weight, heads, how));
  });
}

Variable transform_heads(const Variable& x, const Variable& weight, std::int64_t heads, const HeadTransform& how) {
  constexpr auto kName = TransformHeads::kName;
  const Dims& sizes = x.sizes();
  check(heads > 0 && sizes.rank() == 3 && sizes[2] % heads == 0, kName, ": x is ", sizes,
        ": expected (B, T, h d) with h = ", heads, " heads");
  check_transform(kName, x.value(), sizes[2] / heads, weight, how);
  return record(TransformHeads{heads, dense(how)}, x, weight);
}

}  // namespace tapeformer
