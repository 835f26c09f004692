#include "nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

std::int64_t checked_dim(const BlockConfig& config) {
  if (config.heads < 1 || config.dim % config.heads != 0) {
    fail_usage("model.heads: ", config.heads, " does not divide model.dim, which is ", config.dim);
  }
  return config.dim;
}

// One of `parts` that lie one after another in each row: rows (B, T, parts·dim) → (B, h, T, d_k).
Tensor heads_of(const Tensor& rows, int part, int parts, std::int64_t heads) {
  const std::int64_t dim = rows.size(2) / parts;
  return rows.slice(2, part * dim, (part + 1) * dim)
      .reshape({rows.size(0), rows.size(1), heads, dim / heads})
      .transpose(1, 2);
}

// Attention of queries (B, T, dim) to what a cache holds → (B, T, dim).
Variable attend_to(const KeyValueCache& cache, Tape& tape, const Tensor& queries, std::int64_t heads,
                   const AttentionOptions& options) {
  const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x); };
  const Variable y = scaled_dot_product_attention(constant(heads_of(queries, 0, 1, heads)), constant(cache.keys()),
                                                  constant(cache.values()), options);
  return reshape(transpose(y, 1, 2), queries.sizes());
}

void require_no_recording(const Tape& tape) {
  check(!tape.options().record, "attention: a key/value cache works without recording only");
}

}  // namespace

// Makes room for `length` tokens with the batch, heads and width of k, and keeps what is cached.
void KeyValueCache::reserve(const Tensor& k, std::int64_t length) {
  constexpr std::int64_t kLeast = 16;
  const std::int64_t held = keys_.defined() ? keys_.size(2) : 0;
  const bool same_rows = keys_.defined() && keys_.size(0) == k.size(0);
  check(same_rows || length_ == 0, "key/value cache: holds a batch of ", keys_.defined() ? keys_.size(0) : 0, ", got ",
        k.size(0));
  if (same_rows && length <= held) return;
  const std::int64_t room = std::min(capacity_, std::max({length, 2 * held, kLeast}));
  for (Tensor* tensor : {&keys_, &values_}) {
    const Tensor grown = Tensor::empty({k.size(0), k.size(1), room, k.size(3)}, k.dtype());
    if (length_ > 0) grown.slice(2, 0, length_).copy_from(tensor->slice(2, 0, length_));
    *tensor = grown;
  }
}

void KeyValueCache::append(const Tensor& k, const Tensor& v) {
  const std::int64_t more = k.size(2);
  check(length_ + more <= capacity_, "key/value cache: ", length_, " tokens and ", more,
        " more exceed its capacity of ", capacity_);
  reserve(k, length_ + more);
  keys_.slice(2, length_, length_ + more).copy_from(k);
  values_.slice(2, length_, length_ + more).copy_from(v);
  length_ += more;
}

void KeyValueCache::select(std::span<const std::int64_t> rows) {
  if (length_ == 0) return;
  keys_ = select_rows(keys_, rows);
  values_ = select_rows(values_, rows);
}

MultiHeadAttention::MultiHeadAttention(const BlockConfig& config)
    : qkv(checked_dim(config), 3 * config.dim, config.bias, config.init, config.dtype),
      out(config.dim, config.dim, config.bias, config.residual_init, config.dtype),
      heads_(config.heads),
      dropout_(config.attention_dropout) {
  register_module("qkv", qkv);
  register_module("out", out);
}

Variable MultiHeadAttention::forward(Variable x, const SelfMask& mask, KeyValueCache* cache) const {
  const Variable packed = qkv.forward(x);
  x = {};
  const AttentionOptions options{
      .causal = mask.causal, .key_lengths = mask.lengths, .key_begin = mask.key_begin, .dropout = dropout_};
  if (!cache) return out.forward(packed_self_attention(packed, heads_, options));
  Tape& tape = *packed.tape();
  require_no_recording(tape);
  const Tensor& rows = packed.value();
  cache->append(heads_of(rows, 1, 3, heads_), heads_of(rows, 2, 3, heads_));
  return out.forward(attend_to(*cache, tape, rows.slice(2, 0, rows.size(2) / 3), heads_, options));
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  Tape tape(no_grad);
  const double factor = options.scale > 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  const Variable queries = scale(Variable::constant(tape, q), factor);
  const Tensor scores = matmul(queries, Variable::constant(tape, k.transpose(2, 3))).value();
  for (std::int64_t b = 0; options.key_lengths.defined() && b < k.size(0); ++b) {
    const Tensor padding = scores.slice(0, b, b + 1).slice(3, options.key_lengths.data<std::int32_t>()[b], k.size(2));
    padding.copy_from(Tensor::full(padding.sizes(), q.dtype(), -std::numeric_limits<double>::infinity()));
  }
  return softmax(Variable::constant(tape, scores)).value();
}

CrossAttention::CrossAttention(const BlockConfig& config)
    : q(checked_dim(config), config.dim, config.bias, config.init, config.dtype),
      kv(config.dim, 2 * config.dim, config.bias, config.init, config.dtype),
      out(config.dim, config.dim, config.bias, config.residual_init, config.dtype),
      heads_(config.heads),
      dropout_(config.attention_dropout) {
  register_module("q", q);
  register_module("kv", kv);
  register_module("out", out);
}

Variable CrossAttention::forward(Variable x, const EncoderOutput& encoded, KeyValueCache* cache) const {
  const Dims sizes = x.sizes();
  const std::int64_t batch = encoded.hidden.size(0);
  check(sizes[0] % batch == 0, "cross-attention: ", sizes[0], " rows cannot share ", batch, " encoded ones");
  // Nothing is causal here, so rows that look at the same encoded row can be queries side by side.
  const Variable queries = reshape(q.forward(x), {batch, -1, sizes[2]});
  x = {};
  const AttentionOptions options{.key_lengths = encoded.lengths, .dropout = dropout_};
  Tape& tape = *queries.tape();
  Variable y;
  Tensor keys;
  if (cache) {
    require_no_recording(tape);
    if (cache->length() == 0) {
      const Tensor rows = kv.forward(encoded.hidden).value();
      cache->append(heads_of(rows, 0, 2, heads_), heads_of(rows, 1, 2, heads_));
    }
    keys = cache->keys();
    y = attend_to(*cache, tape, queries.value(), heads_, options);
  } else {
    const Variable packed = kv.forward(encoded.hidden);
    keys = heads_of(packed.value(), 0, 2, heads_);
    y = packed_cross_attention(queries, packed, heads_, options);
  }
  if (const TensorObserver* const observer = tape.options().observer) {
    const Tensor weights = attention_weights(heads_of(queries.value(), 0, 1, heads_), keys, options);
    const std::int64_t rows = sizes[0] / batch, source_length = keys.size(2);
    (*observer)(kCrossAttentionWeights, weights.reshape({batch, heads_, rows, sizes[1], source_length})
                                            .transpose(1, 2)
                                            .reshape({sizes[0], heads_, sizes[1], source_length}));
  }
  return out.forward(reshape(y, sizes));
}

}  // namespace tapeformer
