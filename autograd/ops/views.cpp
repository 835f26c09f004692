#include "autograd/ops/views.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/helpers/sum_to.h"

namespace tapeformer {
namespace {

// y = x with its axes in another order;  dx = dy with the order undone
struct Permute {
  static constexpr const char* kName = "permute";
  Dims order;
  Tensor forward(OpContext&, const Tensor& x) { return x.permute(order); }
  void backward(const Tensor& dy, GradSlot& dx) {
    Dims inverse = order;
    for (int i = 0; i < order.rank(); ++i) inverse[static_cast<int>(order[i])] = i;
    dx.accumulate(dy.permute(inverse));
  }
};

// y = a part of x;  dx = zeros with dy in that part
struct Slice {
  static constexpr const char* kName = "slice";
  int axis;
  std::int64_t start, stop, step;
  Tensor forward(OpContext&, const Tensor& x) { return x.slice(axis, start, stop, step); }
  void backward(const Tensor& dy, GradSlot& dx) {
    const GradTarget target = dx.target();
    if (target.beta == 0) target.tensor.fill(0);
    target.tensor.slice(axis, start, stop, step).add_from(dy);
  }
};

// y = x repeated along axes of size 1;  dx = dy summed over the repetitions
struct Expand {
  static constexpr const char* kName = "expand";
  Dims from, to;
  Tensor forward(OpContext&, const Tensor& x) { return x.expand(to); }
  void backward(const Tensor& dy, GradSlot& dx) { dx.accumulate(sum_to(dy, from)); }
};

// y = the same elements in another shape;  dx = dy in the old one
struct Reshape {
  static constexpr const char* kName = "reshape";
  Dims from, to;
  Tensor forward(OpContext&, const Tensor& x) { return x.reshape(to); }
  void backward(const Tensor& dy, GradSlot& dx) { dx.accumulate(dy.reshape(from)); }
};

// y_i = part i of x;  dx = the dy_i one after another
struct Split {
  static constexpr const char* kName = "split";
  std::vector<std::int64_t> part_sizes;
  int axis;
  Dims sizes = {};

  std::vector<Tensor> parts_of(const Tensor& whole) const {
    std::vector<Tensor> parts;
    std::int64_t start = 0;
    for (std::int64_t size : part_sizes) {
      parts.push_back(whole.slice(axis, start, start + size));
      start += size;
    }
    return parts;
  }
  std::vector<Tensor> forward(OpContext&, std::span<const Tensor> inputs) {
    sizes = inputs[0].sizes();
    std::int64_t total = 0;
    for (std::int64_t size : part_sizes) total += size;
    if (total != inputs[0].size(axis)) {
      std::string parts;
      for (std::int64_t size : part_sizes) parts += str_cat(parts.empty() ? "" : ", ", size);
      fail("split: the parts (", parts, ") make ", total, ", axis ", axis, " of shape ", sizes, " has ",
           inputs[0].size(axis));
    }
    return parts_of(inputs[0]);
  }
  void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) {
    const GradTarget target = slots[0].target();
    const std::vector<Tensor> parts = parts_of(target.tensor);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (target.beta != 0) {
        if (dy[i].defined()) parts[i].add_from(dy[i]);
      } else if (dy[i].defined()) {
        parts[i].copy_from(dy[i]);
      } else {
        parts[i].copy_from(Tensor::scalar(0, target.tensor.dtype()).expand(parts[i].sizes()));
      }
    }
  }
};

// y = the parts one after another;  dx_i = its part of dy
struct Concat {
  static constexpr const char* kName = "concat";
  int axis;
  std::vector<std::int64_t> part_sizes = {};
  std::vector<Tensor> forward(OpContext&, std::span<const Tensor> parts) {
    Dims sizes = parts[0].sizes();
    axis = parts[0].layout().axis(axis, kName);
    sizes[axis] = 0;
    for (const Tensor& part : parts) {
      Dims others = part.sizes();
      check(part.rank() == sizes.rank() && part.dtype() == parts[0].dtype(), "concat: parts of shape ", others, " ",
            part.dtype(), " and ", parts[0].sizes(), " ", parts[0].dtype(), " do not fit together");
      part_sizes.push_back(others[axis]);
      others[axis] = sizes[axis];
      check(others == sizes, "concat: parts of shape ", part.sizes(), " and ", parts[0].sizes(),
            " differ outside of axis ", axis);
      sizes[axis] += part_sizes.back();
    }
    const Tensor whole = Tensor::empty(sizes, parts[0].dtype());
    std::int64_t start = 0;
    for (const Tensor& part : parts) {
      whole.slice(axis, start, start + part.size(axis)).copy_from(part);
      start += part.size(axis);
    }
    return {whole};
  }
  void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].needed()) slots[i].accumulate(dy[0].slice(axis, start, start + part_sizes[i]));
      start += part_sizes[i];
    }
  }
};

}  // namespace

Variable permute(const Variable& x, const Dims& order) {
  Dims positive = order;
  for (std::int64_t& axis : positive) axis = x.value().layout().axis(axis, "permute");
  return record(Permute{positive}, x);
}

Variable transpose(const Variable& x, int a, int b) {
  common_tape("transpose", {&x});
  const Layout& layout = x.value().layout();
  const int i = layout.axis(a, "transpose"), j = layout.axis(b, "transpose");
  Dims order;
  for (int axis = 0; axis < x.value().rank(); ++axis) order.push_back(axis == i ? j : axis == j ? i : axis);
  return record(Permute{order}, x);
}

Variable slice(const Variable& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return record(Slice{axis, start, stop, step}, x);
}

Variable expand(const Variable& x, const Dims& sizes) {
  common_tape("expand", {&x});
  return record(Expand{x.sizes(), sizes}, x);
}

Variable reshape(const Variable& x, const Dims& sizes) {
  return record(Reshape{x.sizes(), x.value().layout().reshape_sizes(sizes)}, x);
}

std::vector<Variable> split(const Variable& x, std::span<const std::int64_t> sizes, int axis) {
  return record_list(Split{{sizes.begin(), sizes.end()}, axis}, {&x, 1});
}

Variable concat(std::span<const Variable> parts, int axis) {
  check(!parts.empty(), "concat: no parts");
  return record_list(Concat{axis}, parts)[0];
}

}  // namespace tapeformer
