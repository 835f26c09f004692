#include <algorithm>
#include <limits>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/elementwise/softcap.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/reduce.h"
#include "autograd/kernels/rows/cross_entropy.h"
#include "autograd/ops/helpers/matrix_view.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/losses/cross_entropy_checks.h"
#include "autograd/ops/losses/losses.h"

namespace tapeformer {
namespace {

// The largest number of logits in a chunk (104 MiB of f32). Each chunk reads the whole weight and adds to its whole
// gradient, so a chunk needs many rows to be efficient, but must not take much memory.
constexpr std::int64_t kChunkElements = std::int64_t{26} << 20;
constexpr std::int64_t kMinChunkRows = 32;

// z = x Wᵀ + b, or softcap(x Wᵀ + b, cap);  y = Σ_i cross_entropy(z_i, target_i) / normalizer
//   dz, the gradient of x Wᵀ + b, as in cross_entropy.cpp and softcap;  dx = dz W, dW = dzᵀ x, db = Σ_i dz_i
// Backward computes each chunk's logits again and uses the log-sum-exp that forward kept. A deferred loss computes the
// logits only in backward, and its value is NaN until then.
struct LinearCrossEntropy {
  static constexpr const char* kName = "linear_cross_entropy";
  CrossEntropyOptions options;
  double cap;
  Tensor x = {}, weight = {}, bias = {}, targets = {}, log_sum_exp = {}, row_loss = {}, value = {};
  bool deferred = false;
  double target_logits = 0;  // their sum, computed only if options.nll is given

  // Calls f(first row, rows, a buffer for rows × V logits) for each chunk. The chunks' sizes differ by one row at most.
  template <class F>
  void for_chunks(F&& f) const {
    const std::int64_t rows = x.size(0), vocab = weight.size(0);
    const std::int64_t most = std::max(kMinChunkRows, kChunkElements / std::max<std::int64_t>(vocab, 1));
    const std::int64_t chunks = (rows + most - 1) / most;
    const Tensor room = Tensor::empty({(rows + chunks - 1) / std::max<std::int64_t>(chunks, 1), vocab}, x.dtype());
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t begin = rows * chunk / chunks, end = rows * (chunk + 1) / chunks;
      f(begin, end - begin, room);
    }
  }

  template <class T>
  void make_logits(T* z, std::int64_t begin, std::int64_t rows) const {
    const std::int64_t vocab = weight.size(0);
    multiply(z, T{0}, x.slice(0, begin, begin + rows), false, weight, true);
    if (bias.defined()) kernels::add_bias(z, bias.data<T>(), rows, vocab);
    if (cap > 0) kernels::softcap_forward(z, z, static_cast<T>(cap), rows * vocab);
  }

  template <class T>
  void add_target_logits(const T* z, std::int64_t begin, std::int64_t rows) {
    if (!options.nll) return;
    target_logits += sum_of_target_logits(z, targets.data<std::int32_t>() + begin, rows, weight.size(0));
  }

  // Computes the loss once the losses of all rows are known.
  void know_value() {
    value.fill(sum_in_order(row_loss) / options.normalizer);
    if (options.nll) {
      *options.nll += (sum_of_scored(log_sum_exp, targets) - target_logits) / options.normalizer;
    }
  }

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& w, const Tensor& b, const Tensor& ids) {
    x = in.contiguous(), weight = w.contiguous(), targets = ids.contiguous();
    if (b.defined()) bias = b.contiguous();
    row_loss = Tensor::empty({x.size(0)}, x.dtype());
    log_sum_exp = Tensor::empty({x.size(0)}, x.dtype());
    value = Tensor::scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype());
    deferred = options.deferred && context.recording();
    if (deferred) return value;
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      for_chunks([&](std::int64_t begin, std::int64_t rows, const Tensor& room) {
        T* const z = room.data<T>();
        make_logits(z, begin, rows);
        add_target_logits(z, begin, rows);
        kernels::cross_entropy_forward(row_loss.data<T>() + begin, log_sum_exp.data<T>() + begin, z,
                                       targets.data<std::int32_t>() + begin, rows, weight.size(0), options.smoothing,
                                       options.z_loss);
      });
    });
    know_value();
    return value;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dweight, GradSlot& dbias, GradSlot&) {
    const std::int64_t dim = x.size(1), vocab = weight.size(0);
    const Tensor dloss = Tensor::full({x.size(0)}, x.dtype(), dy.item() / options.normalizer);
    const GradTarget to_x = target_or_none(dx), to_weight = target_or_none(dweight), to_bias = target_or_none(dbias);
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      for_chunks([&](std::int64_t begin, std::int64_t rows, const Tensor& room) {
        T* const dz = room.data<T>();
        make_logits(dz, begin, rows);
        const std::int32_t* const ids = targets.data<std::int32_t>() + begin;
        if (deferred) {
          add_target_logits(dz, begin, rows);
          kernels::cross_entropy_in_place(row_loss.data<T>() + begin, log_sum_exp.data<T>() + begin, dz,
                                          dloss.data<T>() + begin, ids, rows, vocab, options.smoothing, options.z_loss,
                                          cap);
        } else {
          kernels::cross_entropy_backward(dz, dloss.data<T>() + begin, dz, log_sum_exp.data<T>() + begin, ids, rows,
                                          vocab, options.smoothing, T{0}, options.z_loss, cap);
        }
        const auto beta = [&](const GradTarget& t) { return begin == 0 ? T(t.beta) : T{1}; };
        if (to_x.tensor.defined()) {
          kernels::gemm(to_x.tensor.data<T>() + begin * dim, dim, {dz, vocab}, {weight.data<T>(), dim}, rows, dim,
                        vocab, T{1}, T(to_x.beta));
        }
        if (to_weight.tensor.defined()) {
          kernels::gemm(to_weight.tensor.data<T>(), dim, {dz, vocab, true}, {x.data<T>() + begin * dim, dim}, vocab,
                        dim, rows, T{1}, beta(to_weight));
        }
        if (to_bias.tensor.defined()) {
          kernels::sum_axis(to_bias.tensor.data<T>(), dz, std::int64_t{1}, rows, vocab, beta(to_bias));
        }
      });
    });
    if (deferred) know_value();
  }
};

}  // namespace

Variable linear_cross_entropy(const Variable& x, const Variable& weight, const Variable& bias, const Variable& targets,
                              const CrossEntropyOptions& options, double cap) {
  check(x.value().rank() == 2 && weight.value().rank() == 2 && x.size(1) == weight.size(1),
        "linear_cross_entropy: x is ", x.sizes(), ", weight is ", weight.sizes(),
        ": expected x (N, dim) and weight (V, dim)");
  check(!bias.defined() || bias.sizes() == Dims{weight.size(0)}, "linear_cross_entropy: weight is ", weight.sizes(),
        ", bias is ", bias.sizes(), ": expected bias (", weight.size(0), ")");
  check(cap >= 0, "linear_cross_entropy: expected a cap of at least 0, got ", cap);
  const CrossEntropyOptions checked =
      checked_options("linear_cross_entropy", targets.value(), x.size(0), weight.size(0), options);
  return record(LinearCrossEntropy{checked, cap}, x, weight, bias, targets);
}

}  // namespace tapeformer
