#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/attention/attention.h"

namespace tapeformer {
namespace {

// Sets the elements of x (B, h, T_q, T_k) that the mask hides to `value`.
void hide_keys(const Tensor& x, const AttentionOptions& options, double value) {
  const std::int64_t queries = x.size(2), keys = x.size(3);
  if (!options.causal && !options.key_lengths.defined() && !options.key_begin.defined()) return;
  const auto dense = [](const Tensor& of) { return of.defined() ? of.contiguous() : Tensor(); };
  const Tensor lengths = dense(options.key_lengths), begins = dense(options.key_begin);
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    const std::int64_t length =
        lengths.defined() ? std::min<std::int64_t>(lengths.data<std::int32_t>()[b], keys) : keys;
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t begin = begins.defined() ? begins.data<std::int32_t>()[b * queries + i] : 0;
      const std::int64_t last = options.causal ? std::min(length, i + keys - queries + 1) : length;
      const std::int64_t end = std::max(begin, last);
      const Tensor row = x.slice(0, b, b + 1).slice(2, i, i + 1);
      for (const Tensor& hidden : {row.slice(3, 0, begin), row.slice(3, end, keys)}) {
        if (hidden.numel() > 0) hidden.copy_from(Tensor::full(hidden.sizes(), x.dtype(), value));
      }
    }
  }
}

// Returns q·k of each query and key, (B, h, T_q, T_k). The query heads of a group become rows of one product with the
// group's keys.
Tensor products_of(const Variable& q, const Variable& k) {
  const std::int64_t groups = k.size(1), group = q.size(1) / std::max<std::int64_t>(groups, 1);
  const Variable grouped = reshape(q, {q.size(0), groups, group * q.size(2), q.size(3)});
  return matmul(grouped, transpose(k, 2, 3)).value().reshape({q.size(0), q.size(1), q.size(2), k.size(2)});
}

// φ(x) = elu(x) + 1 = max(x, 0) + e^min(x, 0)
Variable elu_plus_one(const Variable& x) { return add(relu(x), exp(neg(relu(neg(x))))); }

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  Tape tape(no_grad);
  const double factor = options.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.size(3))) : options.scale;
  const Tensor scores = products_of(scale(Variable::constant(tape, q), factor), Variable::constant(tape, k));
  hide_keys(scores, options, -std::numeric_limits<double>::infinity());
  const Tensor weights = softmax(Variable::constant(tape, scores)).value();
  hide_keys(weights, options, 0);  // also for queries that see no key
  return weights;
}

Tensor linear_attention_weights(const Tensor& q, const Tensor& k, const Tensor& key_begin) {
  Tape tape(no_grad);
  const Tensor scores =
      products_of(elu_plus_one(Variable::constant(tape, q)), elu_plus_one(Variable::constant(tape, k)));
  hide_keys(scores, {.causal = true, .key_begin = key_begin}, 0);
  const Variable all = Variable::constant(tape, scores);
  return div(all, expand(sum(all, -1, true), all.sizes())).value();
}

}  // namespace tapeformer
