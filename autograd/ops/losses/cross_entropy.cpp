#include "autograd/kernels/rows/cross_entropy.h"

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/losses/cross_entropy_checks.h"
#include "autograd/ops/losses/losses.h"

namespace tapeformer {
namespace {

// With p_i = softmax(logits_i), s_i = log Σ_v e^logits_iv, ε = smoothing and ζ = z_loss:
//   y = Σ_i loss_i/normalizer,  loss_i = −(1 − ε)·log p_i,target − ε/V·Σ_v log p_iv + ζ·s_i²
//   dlogits_i = dy/normalizer·(p_i·(1 + 2ζ·s_i) − (1 − ε)·onehot(target_i) − ε/V)
// The loss and the gradient of a row with a negative target are 0.
struct CrossEntropy {
  static constexpr const char* kName = "cross_entropy";
  CrossEntropyOptions options;
  Tensor logits = {}, targets = {}, log_sum_exp = {};

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& ids) {
    const Tensor source = in.contiguous(), loss = Tensor::empty({in.size(0)}, in.dtype());
    targets = ids.contiguous();
    log_sum_exp = Tensor::empty({in.size(0)}, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      kernels::cross_entropy_forward(loss.data<T>(), log_sum_exp.data<T>(), source.data<T>(),
                                     targets.data<std::int32_t>(), in.size(0), in.size(1), options.smoothing,
                                     options.z_loss);
    });
    if (options.nll) {
      const double of_targets = dispatch_floating(in.dtype(), [&]<class T>(T) {
        return sum_of_target_logits(source.data<T>(), targets.data<std::int32_t>(), in.size(0), in.size(1));
      });
      *options.nll += (sum_of_scored(log_sum_exp, targets) - of_targets) / options.normalizer;
    }
    if (context.recording()) logits = source;
    return Tensor::scalar(sum_in_order(loss) / options.normalizer, in.dtype());
  }
  void backward(const Tensor& dy, GradSlot& dlogits, GradSlot&) {
    const Tensor dloss = Tensor::full({logits.size(0)}, logits.dtype(), dy.item() / options.normalizer);
    write_gradient(dlogits, [&]<class T>(T* out, T beta) {
      kernels::cross_entropy_backward(out, dloss.data<T>(), logits.data<T>(), log_sum_exp.data<T>(),
                                      targets.data<std::int32_t>(), logits.size(0), logits.size(1), options.smoothing,
                                      beta, options.z_loss);
    });
  }
};

}  // namespace

double sum_of_scored(const Tensor& log_sum_exp, const Tensor& targets) {
  const std::int32_t* const ids = targets.data<std::int32_t>();
  return dispatch_floating(log_sum_exp.dtype(), [&]<class T>(T) {
    double total = 0;
    const std::span<T> values = log_sum_exp.span<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (ids[i] >= 0) total += values[i];
    }
    return total;
  });
}

double sum_in_order(const Tensor& values) {
  return dispatch_floating(values.dtype(), [&]<class T>(T) {
    double total = 0;
    for (T value : values.span<T>()) total += value;
    return total;
  });
}

CrossEntropyOptions checked_options(const char* what, const Tensor& targets, std::int64_t rows, std::int64_t vocab,
                                    CrossEntropyOptions options) {
  check(targets.dtype() == DType::i32 && targets.sizes() == Dims{rows}, what, ": expected i32 targets (", rows,
        "), got ", targets.dtype(), " ", targets.sizes());
  check(rows > 0, what, ": no rows");
  check(options.smoothing >= 0 && options.smoothing < 1, what, ": expected 0 <= smoothing < 1, got ",
        options.smoothing);
  check(options.z_loss >= 0, what, ": expected z_loss >= 0, got ", options.z_loss);
  std::int64_t scored = 0;
  const Tensor dense = targets.contiguous();
  for (std::int32_t target : dense.span<std::int32_t>()) {
    check(target < vocab, what, ": target ", target, " is outside of the vocabulary of ", vocab);
    scored += target >= 0;
  }
  if (options.normalizer == 0) options.normalizer = std::max<double>(static_cast<double>(scored), 1);
  return options;
}

Variable cross_entropy(const Variable& logits, const Variable& targets, const CrossEntropyOptions& options) {
  check(logits.value().rank() == 2, "cross_entropy: expected logits (N, V), got ", logits.sizes());
  return record(
      CrossEntropy{checked_options("cross_entropy", targets.value(), logits.size(0), logits.size(1), options)}, logits,
      targets);
}

}  // namespace tapeformer
