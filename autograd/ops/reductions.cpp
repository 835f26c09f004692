#include "autograd/kernels/reduce.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/helpers/sum_to.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"

namespace tapeformer {
namespace {

// A shape as three sizes: the product of the axes before one axis, that axis, and the product of the axes after it.
struct AroundAxis {
  std::int64_t outer = 1, middle = 1, inner = 1;
  AroundAxis(const Dims& sizes, int axis) {
    for (int i = 0; i < sizes.rank(); ++i) (i < axis ? outer : i == axis ? middle : inner) *= sizes[i];
  }
};

Dims without_axis(const Dims& sizes, int axis) {
  Dims rest;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (i != axis) rest.push_back(sizes[i]);
  }
  return rest;
}

Dims with_axis_of_one(Dims sizes, int axis) {
  sizes[axis] = 1;
  return sizes;
}

// y = Σ_k x_k along an axis;  dx_k = dy
struct Sum {
  static constexpr const char* kName = "sum";
  int axis;
  Dims sizes = {};
  Tensor forward(OpContext&, const Tensor& x) {
    sizes = x.sizes();
    return sum_axis(x, axis);
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    dx.accumulate(dy.reshape(with_axis_of_one(sizes, axis)).expand(sizes));
  }
};

// y = max_k x_k along an axis;  dx_k = dy for the first k with x_k = y, 0 for all others
struct Max {
  static constexpr const char* kName = "max";
  int axis;
  Dims sizes = {};
  Tensor argmax = {};
  Tensor forward(OpContext&, const Tensor& x) {
    sizes = x.sizes();
    const auto [outer, middle, inner] = AroundAxis(sizes, axis);
    check(middle > 0, "max: axis ", axis, " of shape ", sizes, " is empty");
    const Tensor source = x.contiguous(), y = Tensor::empty(without_axis(sizes, axis), x.dtype());
    argmax = Tensor::empty(y.sizes(), DType::i32);
    dispatch_floating(x.dtype(), [&, outer = outer, middle = middle, inner = inner]<class T>(T) {
      kernels::max_middle(y.data<T>(), argmax.data<std::int32_t>(), source.data<T>(), outer, middle, inner);
    });
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    const auto [outer, middle, inner] = AroundAxis(sizes, axis);
    write_gradient(
        dx, [&, g = dy.contiguous(), outer = outer, middle = middle, inner = inner]<class T>(T* out, T beta) {
          kernels::max_middle_backward(out, g.data<T>(), argmax.data<std::int32_t>(), outer, middle, inner, beta);
        });
  }
};

Variable keep_axis(const Variable& reduced, const Variable& x, int axis, bool keep) {
  return keep ? reshape(reduced, with_axis_of_one(x.sizes(), axis)) : reduced;
}

}  // namespace

Tensor sum_axis(const Tensor& x, int axis) {
  const auto [outer, middle, inner] = AroundAxis(x.sizes(), axis);
  const Tensor source = x.contiguous(), y = Tensor::empty(without_axis(x.sizes(), axis), x.dtype());
  dispatch_floating(x.dtype(), [&, outer = outer, middle = middle, inner = inner]<class T>(T) {
    kernels::sum_axis(y.data<T>(), source.data<T>(), outer, middle, inner, T{0});
  });
  return y;
}

Tensor sum_to(const Tensor& x, const Dims& sizes) {
  Tensor y = x;
  while (y.rank() > sizes.rank()) y = sum_axis(y, 0);
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == 1 && y.size(i) != 1) y = sum_axis(y, i).reshape(with_axis_of_one(y.sizes(), i));
  }
  return y;
}

Variable sum(const Variable& x, int axis, bool keep) {
  axis = x.value().layout().axis(axis, "sum");
  return keep_axis(record(Sum{axis}, x), x, axis, keep);
}

Variable sum(const Variable& x) {
  common_tape("sum", {&x});
  return record(Sum{0}, reshape(x, {-1}));
}

Variable mean(const Variable& x, int axis, bool keep) {
  common_tape("mean", {&x});
  axis = x.value().layout().axis(axis, "mean");
  return scale(sum(x, axis, keep), 1.0 / static_cast<double>(x.size(axis)));
}

Variable mean(const Variable& x) {
  common_tape("mean", {&x});
  return scale(sum(x), 1.0 / static_cast<double>(x.value().numel()));
}

Variable max(const Variable& x, int axis, bool keep) {
  axis = x.value().layout().axis(axis, "max");
  return keep_axis(record(Max{axis}, x), x, axis, keep);
}

}  // namespace tapeformer
