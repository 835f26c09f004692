#include "autograd/kernels/gemm/gemm.h"

#include "autograd/ops/helpers/matrix_view.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"

namespace tapeformer {
namespace {

// Returns the distance between rows (between columns if the matrix is stored transposed), or nothing if BLAS cannot
// read the last two axes as a matrix.
std::optional<std::int64_t> leading_dimension(const Layout& layout, bool transposed) {
  const int row_axis = layout.rank() - (transposed ? 1 : 2), column_axis = layout.rank() - (transposed ? 2 : 1);
  const std::int64_t rows = layout.sizes[row_axis], columns = layout.sizes[column_axis];
  if (columns > 1 && layout.strides[column_axis] != 1) return std::nullopt;
  const std::int64_t row_length = std::max<std::int64_t>(columns, 1);
  if (rows <= 1) return row_length;
  const std::int64_t stride = layout.strides[row_axis];
  return stride >= row_length ? std::optional(stride) : std::nullopt;
}

// Returns the offset of each matrix from the first one, for all indices of the leading axes in row-major order.
std::vector<std::int64_t> matrix_offsets(const Tensor& x) {
  std::vector<std::int64_t> offsets{0};
  for (int axis = 0; axis < x.rank() - 2; ++axis) {
    std::vector<std::int64_t> longer;
    for (std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < x.size(axis); ++i) longer.push_back(offset + i * x.layout().strides[axis]);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

// c = beta·c + a·b for every matrix. The leading axes of the three tensors have the same sizes.
void multiply(const Tensor& c, double beta, const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b) {
  const Tensor left = readable_by_blas(a), right = readable_by_blas(b);
  const std::int64_t m = c.size(-2), n = c.size(-1), k = left.size(transpose_a ? -2 : -1);
  const std::vector<std::int64_t> c_offsets = matrix_offsets(c), a_offsets = matrix_offsets(left),
                                  b_offsets = matrix_offsets(right);
  dispatch_floating(c.dtype(), [&]<class T>(T) {
    kernels::gemm_batched(c.data<T>(), c_offsets.data(), std::max<std::int64_t>(n, 1),
                          matrix_view<T>(left, transpose_a), a_offsets.data(), matrix_view<T>(right, transpose_b),
                          b_offsets.data(), static_cast<std::int64_t>(c_offsets.size()), m, n, k, T{1},
                          static_cast<T>(beta));
  });
}

// y = a·b over the last two axes;  da = dy·bᵀ, db = aᵀ·dy
struct MatMul {
  static constexpr const char* kName = "matmul";
  Saved a, b;
  Tensor forward(OpContext& context, const Tensor& left, const Tensor& right) {
    a = context.save(0, left), b = context.save(1, right);
    Dims sizes = left.sizes();
    sizes[left.rank() - 1] = right.size(-1);
    const Tensor y = Tensor::empty(sizes, left.dtype());
    multiply(y, 0, left, false, right, false);
    return y;
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    if (da.needed()) {
      const GradTarget target = da.target();
      multiply(target.tensor, target.beta, dy, false, b.get(), true);
    }
    if (db.needed()) {
      const GradTarget target = db.target();
      multiply(target.tensor, target.beta, a.get(), true, dy, false);
    }
  }
};

}  // namespace

Tensor readable_by_blas(const Tensor& x) {
  const bool readable = leading_dimension(x.layout(), false) || leading_dimension(x.layout(), true);
  return readable ? x : x.clone();
}

template <class T>
kernels::MatrixView<T> matrix_view(const Tensor& x, bool transpose) {
  if (const auto ld = leading_dimension(x.layout(), false)) return {x.data<T>(), *ld, transpose};
  return {x.data<T>(), leading_dimension(x.layout(), true).value(), !transpose};
}
template kernels::MatrixView<float> matrix_view(const Tensor&, bool);
template kernels::MatrixView<double> matrix_view(const Tensor&, bool);
template kernels::MatrixView<kernels::Bf16> matrix_view(const Tensor&, bool);

Variable matmul(const Variable& a, const Variable& b) {
  const Dims &left = a.sizes(), &right = b.sizes();
  check(left.rank() >= 2 && right.rank() >= 2, "matmul: a is ", left, ", b is ", right, ": expected two axes or more");
  const std::int64_t m = left[left.rank() - 2], k = left.back(), n = right.back();
  check(k == right[right.rank() - 2], "matmul: a is ", left, ", b is ", right, ": inner sizes ", k, " and ",
        right[right.rank() - 2], " differ");
  check(a.dtype() == b.dtype(), "matmul: a is ", a.dtype(), ", b is ", b.dtype());
  Tape& tape = common_tape("matmul", {&a, &b});
  if (left.rank() > 2 && right.rank() == 2) {  // the leading axes of a become rows of one product
    Dims sizes = left;
    sizes[left.rank() - 1] = n;
    return reshape(record(MatMul{}, reshape(a.on(tape), {row_count(a.value()), k}), b), sizes);
  }
  Dims front = broadcast_sizes(Dims(std::span(left.begin(), left.end() - 2)),
                               Dims(std::span(right.begin(), right.end() - 2)), "matmul");
  Dims a_sizes = front, b_sizes = front;
  a_sizes.push_back(m), a_sizes.push_back(k);
  b_sizes.push_back(k), b_sizes.push_back(n);
  const auto fit = [&](const Variable& x, const Dims& sizes) {
    return x.sizes() == sizes ? x : expand(x.on(tape), sizes);
  };
  return record(MatMul{}, fit(a, a_sizes), fit(b, b_sizes));
}

}  // namespace tapeformer
