#include "autograd/kernels/elementwise/piecewise.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/binary.h"

namespace tapeformer {
namespace {

// y = |x|;  dx = dy·sign(x)
struct Abs {
  static constexpr const char* kName = "abs";
  Saved x;
  Tensor forward(OpContext& context, const Tensor& in) {
    x = context.save(0, in);
    return map(kName, in, [](auto* y, const auto* in, std::int64_t n) { kernels::abs_forward(y, in, n); });
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, source = x.get().contiguous(), g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::abs_backward(out, g.data<T>(), source.data<T>(), beta, g.numel());
    });
  }
};

// y = min(max(x, low), high);  dx = dy·[low ≤ x ≤ high]
struct Clamp {
  static constexpr const char* kName = "clamp";
  double low, high;
  Saved x = {};
  Tensor forward(OpContext& context, const Tensor& in) {
    x = context.save(0, in);
    return map(kName, in, [&]<class T>(T* y, const T* in, std::int64_t n) {
      kernels::clamp_forward(y, in, static_cast<T>(low), static_cast<T>(high), n);
    });
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, source = x.get().contiguous(), g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::clamp_backward(out, g.data<T>(), source.data<T>(), static_cast<T>(low), static_cast<T>(high), beta,
                              g.numel());
    });
  }
};

// Writes the gradient of a in min(a, b): da = dy·([a < b] + ½[a = b]).
void write_gradient_of_smaller(GradSlot& da, const Tensor& dy, const Saved& a, const Saved& b) {
  write_gradient(da, [&, left = a.get().contiguous(), right = b.get().contiguous()]<class T>(T* out, T beta) {
    kernels::smaller_backward(out, dy.data<T>(), left.data<T>(), right.data<T>(), beta, dy.numel());
  });
}

// y = min(a, b);  da = dy·([a < b] + ½[a = b]), db = dy·([b < a] + ½[a = b])
struct Minimum {
  static constexpr const char* kName = "minimum";
  Saved a, b;
  Tensor forward(OpContext& context, const Tensor& left, const Tensor& right) {
    a = context.save(0, left), b = context.save(1, right);
    return map_pair(kName, left, right,
                    [](auto* y, auto* x, auto* z, std::int64_t n) { kernels::minimum_forward(y, x, z, n); });
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    const Tensor g = dy.contiguous();
    write_gradient_of_smaller(da, g, a, b);
    write_gradient_of_smaller(db, g, b, a);
  }
};

// y = max(a, b);  da = dy·([a > b] + ½[a = b]), db = dy·([b > a] + ½[a = b])
struct Maximum {
  static constexpr const char* kName = "maximum";
  Saved a, b;
  Tensor forward(OpContext& context, const Tensor& left, const Tensor& right) {
    a = context.save(0, left), b = context.save(1, right);
    return map_pair(kName, left, right,
                    [](auto* y, auto* x, auto* z, std::int64_t n) { kernels::maximum_forward(y, x, z, n); });
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    const Tensor g = dy.contiguous();
    write_gradient_of_smaller(da, g, b, a);
    write_gradient_of_smaller(db, g, a, b);
  }
};

}  // namespace

Variable abs(const Variable& x) { return record(Abs{}, x); }

Variable clamp(const Variable& x, double low, double high) {
  check(low <= high, "clamp: expected low <= high, got ", low, " and ", high);
  return record(Clamp{low, high}, x);
}

Variable minimum(const Variable& a, const Variable& b) { return record_broadcast<Minimum>(a, b); }
Variable maximum(const Variable& a, const Variable& b) { return record_broadcast<Maximum>(a, b); }

}  // namespace tapeformer
