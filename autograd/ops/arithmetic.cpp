#include "autograd/ops/arithmetic.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/ops/helpers/binary.h"
#include "autograd/ops/helpers/unary.h"

namespace tapeformer {
namespace {

// y = a + b;  da = dy, db = dy
struct Add {
  static constexpr const char* kName = "add";
  Tensor forward(OpContext&, const Tensor& a, const Tensor& b) {
    return map_pair(kName, a, b, [](auto* y, auto* x, auto* z, std::int64_t n) { kernels::add(y, x, z, n); });
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    if (da.needed()) da.accumulate(dy);
    if (db.needed()) db.accumulate(dy);
  }
};

// y = a − b;  da = dy, db = −dy
struct Sub {
  static constexpr const char* kName = "sub";
  Tensor forward(OpContext&, const Tensor& a, const Tensor& b) {
    return map_pair(kName, a, b, [](auto* y, auto* x, auto* z, std::int64_t n) { kernels::sub(y, x, z, n); });
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    if (da.needed()) da.accumulate(dy);
    write_gradient(db, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::axpby(out, T{-1}, g.data<T>(), beta, g.numel());
    });
  }
};

// y = a·b;  da = dy·b, db = dy·a
struct Mul {
  static constexpr const char* kName = "mul";
  Saved a, b;
  Tensor forward(OpContext& context, const Tensor& left, const Tensor& right) {
    a = context.save(0, left), b = context.save(1, right);
    return map_pair(kName, left, right,
                    [](auto* y, auto* x, auto* z, std::int64_t n) { kernels::mul(y, x, z, {}, n); });
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    const Tensor g = dy.contiguous();
    const auto write = [&](GradSlot& slot, const Saved& other) {
      write_gradient(slot, [&]<class T>(T* out, T beta) {
        const Tensor factor = other.get().contiguous();
        kernels::mul(out, g.data<T>(), factor.data<T>(), beta, g.numel());
      });
    };
    write(da, b);
    write(db, a);
  }
};

// y = a/b;  da = dy/b, db = −(dy/b)·y
struct Div {
  static constexpr const char* kName = "div";
  Saved b;
  Tensor y;
  Tensor forward(OpContext& context, const Tensor& left, const Tensor& right) {
    const Tensor quotient =
        map_pair(kName, left, right, [](auto* y, auto* x, auto* z, std::int64_t n) { kernels::div(y, x, z, {}, n); });
    b = context.save(1, right);
    if (context.recording()) y = quotient;
    return quotient;
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    const Tensor quotient = map_pair(
        kName, dy, b.get(), [](auto* out, auto* x, auto* z, std::int64_t n) { kernels::div(out, x, z, {}, n); });
    write_gradient(db, [&]<class T>(T* out, T beta) {
      const Tensor product = Tensor::empty(y.sizes(), y.dtype());
      kernels::mul(product.data<T>(), quotient.data<T>(), y.data<T>(), T{0}, y.numel());
      kernels::axpby(out, T{-1}, product.data<T>(), beta, y.numel());
    });
    if (da.needed()) da.accumulate(quotient);
  }
};

// y = factor·x;  dx = factor·dy
struct Scale {
  static constexpr const char* kName = "scale";
  double factor;
  Tensor forward(OpContext&, const Tensor& x) {
    return map(kName, x,
               [&]<class T>(T* y, const T* in, std::int64_t n) { kernels::axpby(y, T(factor), in, T{0}, n); });
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::axpby(out, T(factor), g.data<T>(), beta, g.numel());
    });
  }
};

// y = x + value;  dx = dy
struct AddScalar {
  static constexpr const char* kName = "add_scalar";
  double value;
  Tensor forward(OpContext&, const Tensor& x) {
    return map(kName, x, [&]<class T>(T* y, const T* in, std::int64_t n) { kernels::add_scalar(y, in, T(value), n); });
  }
  void backward(const Tensor& dy, GradSlot& dx) { dx.accumulate(dy); }
};

// 2x of n elements, in memory of its own.
template <class T>
Tensor twice(const T* x, std::int64_t n) {
  const Tensor y = Tensor::empty({n}, dtype_of<T>());
  kernels::add(y.data<T>(), x, x, n);
  return y;
}

// y = x²;  dx = dy·2x
using Square = SavesInput<"square", [](auto* y, auto* x, std::int64_t n) { kernels::mul(y, x, x, {}, n); },
                          []<class T>(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
                            kernels::mul(dx, dy, twice(x, n).template data<T>(), beta, n);
                          }>;

// y = e^x;  dx = dy·y
using Exp = KeepsOutput<"exp", [](auto... a) { kernels::exp_forward(a...); }, [](auto... a) { kernels::mul(a...); }>;

// y = ln x;  dx = dy/x
using Log = SavesInput<"log", [](auto... a) { kernels::log_forward(a...); }, [](auto... a) { kernels::div(a...); }>;

// y = √x;  dx = dy/(2y)
using Sqrt = KeepsOutput<"sqrt", [](auto... a) { kernels::sqrt_forward(a...); },
                         []<class T>(T* dx, const T* dy, const T* y, T beta, std::int64_t n) {
                           kernels::div(dx, dy, twice(y, n).template data<T>(), beta, n);
                         }>;

}  // namespace

Variable add(const Variable& a, const Variable& b) { return record_broadcast<Add>(a, b); }
Variable sub(const Variable& a, const Variable& b) { return record_broadcast<Sub>(a, b); }
Variable mul(const Variable& a, const Variable& b) { return record_broadcast<Mul>(a, b); }
Variable div(const Variable& a, const Variable& b) { return record_broadcast<Div>(a, b); }
Variable scale(const Variable& x, double factor) { return record(Scale{factor}, x); }
Variable add_scalar(const Variable& x, double value) { return record(AddScalar{value}, x); }
Variable neg(const Variable& x) {
  common_tape("neg", {&x});
  return scale(x, -1);
}
Variable square(const Variable& x) { return record(Square{}, x); }
Variable exp(const Variable& x) { return record(Exp{}, x); }
Variable log(const Variable& x) { return record(Log{}, x); }
Variable sqrt(const Variable& x) { return record(Sqrt{}, x); }

Variable operator/(double value, const Variable& x) {
  Tape& tape = common_tape("div", {&x});
  return div(Variable::constant(tape, Tensor::scalar(value, x.dtype())), x);
}

}  // namespace tapeformer
