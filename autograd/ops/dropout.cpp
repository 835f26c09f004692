#include "autograd/kernels/elementwise/dropout.h"

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/layers.h"

namespace tapeformer {
namespace {

// y = x·m/(1 − p), m_i = 1 with probability 1 − p, else 0;  dx = dy·m/(1 − p), with the same m drawn again
struct Dropout {
  static constexpr const char* kName = "dropout";
  double p;
  RandomKey key = {};
  Tensor forward(OpContext& context, const Tensor& x) {
    key = context.next_random_key();
    return map(kName, x, [&]<class T>(T* y, const T* in, std::int64_t n) { kernels::dropout(y, in, p, key, T{0}, n); });
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::dropout(out, g.data<T>(), p, key, beta, g.numel());
    });
  }
};

}  // namespace

Variable dropout(const Variable& x, double p) {
  check(p >= 0 && p < 1, "dropout: expected 0 <= p < 1, got ", p);
  const bool drops = p > 0 && (!x.tape() || x.tape()->options().training);
  return drops ? record(Dropout{p}, x) : x;
}

}  // namespace tapeformer
