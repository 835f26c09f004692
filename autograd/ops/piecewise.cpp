#include "autograd/kernels/elementwise/piecewise.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/binary.h"
#include "autograd/ops/helpers/unary.h"

namespace tapeformer {
namespace {

// y = |x|;  dx = dy·sign(x)
using Abs =
    SavesInput<"abs", [](auto... a) { kernels::abs_forward(a...); }, [](auto... a) { kernels::abs_backward(a...); }>;

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

// One of a and b at each element. The kernel of backward writes the gradient of the first of two, which are a and b for
// da, and b and a for db.
template <OpName kText, auto kForward, auto kBackward>
struct OneOfTwo {
  static constexpr const char* kName = kText.text;
  Saved a, b;
  Tensor forward(OpContext& context, const Tensor& left, const Tensor& right) {
    a = context.save(0, left), b = context.save(1, right);
    return map_pair(kName, left, right, kForward);
  }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    const auto write = [g = dy.contiguous()](GradSlot& slot, const Saved& its, const Saved& other) {
      write_gradient(slot, [&, x = its.get().contiguous(), z = other.get().contiguous()]<class T>(T* out, T beta) {
        kBackward(out, g.data<T>(), x.data<T>(), z.data<T>(), beta, g.numel());
      });
    };
    write(da, a, b);
    write(db, b, a);
  }
};

// y = min(a, b);  da = dy·([a < b] + ½[a = b]), db = dy·([b < a] + ½[a = b])
using Minimum = OneOfTwo<"minimum", [](auto... a) { kernels::minimum_forward(a...); },
                         [](auto* da, auto* dy, auto* a, auto* b, auto beta, std::int64_t n) {
                           kernels::smaller_backward(da, dy, a, b, beta, n);
                         }>;

// y = max(a, b);  da = dy·([a > b] + ½[a = b]), db = dy·([b > a] + ½[a = b])
using Maximum = OneOfTwo<"maximum", [](auto... a) { kernels::maximum_forward(a...); },
                         [](auto* da, auto* dy, auto* a, auto* b, auto beta, std::int64_t n) {
                           kernels::smaller_backward(da, dy, b, a, beta, n);
                         }>;

}  // namespace

Variable abs(const Variable& x) { return record(Abs{}, x); }

Variable clamp(const Variable& x, double low, double high) {
  check(low <= high, "clamp: expected low <= high, got ", low, " and ", high);
  return record(Clamp{low, high}, x);
}

Variable minimum(const Variable& a, const Variable& b) { return record_broadcast<Minimum>(a, b); }
Variable maximum(const Variable& a, const Variable& b) { return record_broadcast<Maximum>(a, b); }

}  // namespace tapeformer
