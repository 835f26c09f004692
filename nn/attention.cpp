#include "nn/attention.h"

#include <algorithm>
#include <array>
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
  if (config.kv_heads < 0 || (config.kv_heads > 0 && config.heads % config.kv_heads != 0)) {
    fail_usage("model.kv_heads: ", config.kv_heads, " does not divide model.heads, which is ", config.heads);
  }
  return config.dim;
}

// The width of keys, and of values.
std::int64_t key_width(const BlockConfig& config) {
  const std::int64_t dim = checked_dim(config);
  return HeadCount(config.heads, config.kv_heads).keys * (dim / config.heads);
}

std::unique_ptr<RmsNorm> head_norm(const BlockConfig& config) {
  if (!config.qk_norm) return nullptr;
  return std::make_unique<RmsNorm>(checked_dim(config) / config.heads, config.norm_eps, config.dtype);
}

Variable weight_of(const std::unique_ptr<RmsNorm>& norm) { return norm ? norm->weight : Variable(); }

// `heads` heads of width d that lie side by side in each row: rows (B, T, heads·d) → (B, h, T, d).
Tensor heads_of(const Tensor& rows, std::int64_t heads) {
  return rows.reshape({rows.size(0), rows.size(1), heads, rows.size(2) / heads}).transpose(1, 2);
}

// Attention of queries (B, T, dim) to what a cache holds → (B, T, dim).
Variable attend_to(const KeyValueCache& cache, const Variable& queries, std::int64_t heads,
                   const AttentionOptions& options) {
  const auto constant = [&](const Tensor& x) { return Variable::constant(*queries.tape(), x); };
  const Variable y = scaled_dot_product_attention(constant(heads_of(queries.value(), heads)), constant(cache.keys()),
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
    : qkv(checked_dim(config), config.dim + 2 * key_width(config), config.bias, config.init, config.dtype),
      out(config.dim, config.dim, config.bias, config.residual_init, config.dtype),
      heads_(config.heads, config.kv_heads),
      q_norm_(head_norm(config)),
      k_norm_(head_norm(config)),
      transform_{.norm_eps = config.norm_eps},
      dropout_(config.attention_dropout) {
  register_module("qkv", qkv);
  if (q_norm_) register_module("q_norm", *q_norm_);
  if (k_norm_) register_module("k_norm", *k_norm_);
  register_module("out", out);
}

Variable MultiHeadAttention::forward(Variable x, const SelfMask& mask, KeyValueCache* cache,
                                     const Rotation& rotation) const {
  const Variable packed = qkv.forward(x);
  x = {};
  const AttentionOptions options{
      .causal = mask.causal, .key_lengths = mask.lengths, .key_begin = mask.key_begin, .dropout = dropout_};
  HeadTransform transform = transform_;
  transform.rotation = rotation;
  if (!cache) {
    return out.forward(
        packed_self_attention(packed, heads_, options, {weight_of(q_norm_), weight_of(k_norm_)}, transform));
  }
  Tape& tape = *packed.tape();
  require_no_recording(tape);
  const Tensor& rows = packed.value();
  const std::int64_t d = rows.size(2) / (heads_.queries + 2 * heads_.keys);
  const std::int64_t keys = heads_.queries * d, values = keys + heads_.keys * d;
  const auto transformed = [&](const Tensor& part, const std::unique_ptr<RmsNorm>& norm, std::int64_t heads) {
    const Variable x = Variable::constant(tape, part);
    return norm || rotation.table.defined() ? transform_heads(x, weight_of(norm), heads, transform) : x;
  };
  const Variable k = transformed(rows.slice(2, keys, values), k_norm_, heads_.keys);
  cache->append(heads_of(k.value(), heads_.keys), heads_of(rows.slice(2, values, rows.size(2)), heads_.keys));
  return out.forward(
      attend_to(*cache, transformed(rows.slice(2, 0, keys), q_norm_, heads_.queries), heads_.queries, options));
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  Tape tape(no_grad);
  const double factor = options.scale > 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  const Variable queries = scale(Variable::constant(tape, q), factor);
  // One axis of groups, and one of the query heads in each.
  const std::int64_t groups = k.size(1), group = q.size(1) / std::max<std::int64_t>(groups, 1);
  const Variable grouped = reshape(queries, {q.size(0), groups, group * q.size(2), q.size(3)});
  const Tensor scores = matmul(grouped, Variable::constant(tape, k.transpose(2, 3)))
                            .value()
                            .reshape({q.size(0), q.size(1), q.size(2), k.size(2)});
  for (std::int64_t b = 0; options.key_lengths.defined() && b < k.size(0); ++b) {
    const Tensor padding = scores.slice(0, b, b + 1).slice(3, options.key_lengths.data<std::int32_t>()[b], k.size(2));
    padding.copy_from(Tensor::full(padding.sizes(), q.dtype(), -std::numeric_limits<double>::infinity()));
  }
  return softmax(Variable::constant(tape, scores)).value();
}

CrossAttention::CrossAttention(const BlockConfig& config)
    : q(checked_dim(config), config.dim, config.bias, config.init, config.dtype),
      kv(config.dim, 2 * key_width(config), config.bias, config.init, config.dtype),
      out(config.dim, config.dim, config.bias, config.residual_init, config.dtype),
      heads_(config.heads, config.kv_heads),
      q_norm_(head_norm(config)),
      k_norm_(head_norm(config)),
      transform_{.norm_eps = config.norm_eps},
      dropout_(config.attention_dropout) {
  register_module("q", q);
  if (q_norm_) register_module("q_norm", *q_norm_);
  register_module("kv", kv);
  if (k_norm_) register_module("k_norm", *k_norm_);
  register_module("out", out);
}

Variable CrossAttention::keys_and_values(const Variable& encoded) const {
  const Variable packed = kv.forward(encoded);
  if (!k_norm_) return packed;
  const std::int64_t width = packed.size(2) / 2;
  const Variable keys = transform_heads(slice(packed, 2, 0, width), k_norm_->weight, heads_.keys, transform_);
  return concat(std::array{keys, slice(packed, 2, width, 2 * width)}, -1);
}

Variable CrossAttention::forward(Variable x, const EncoderOutput& encoded, KeyValueCache* cache) const {
  const Dims sizes = x.sizes();
  const std::int64_t batch = encoded.hidden.size(0);
  check(sizes[0] % batch == 0, "cross-attention: ", sizes[0], " rows cannot share ", batch, " encoded ones");
  // Nothing is causal here, so rows that look at the same encoded row can be queries side by side.
  Variable queries = reshape(q.forward(x), {batch, -1, sizes[2]});
  x = {};
  if (q_norm_) queries = transform_heads(queries, q_norm_->weight, heads_.queries, transform_);
  const AttentionOptions options{.key_lengths = encoded.lengths, .dropout = dropout_};
  Tape& tape = *queries.tape();
  const auto keys_of = [&](const Tensor& rows) { return heads_of(rows.slice(2, 0, rows.size(2) / 2), heads_.keys); };
  Variable y;
  Tensor keys;
  if (cache) {
    require_no_recording(tape);
    if (cache->length() == 0) {
      const Tensor rows = keys_and_values(encoded.hidden).value();
      cache->append(keys_of(rows), heads_of(rows.slice(2, rows.size(2) / 2, rows.size(2)), heads_.keys));
    }
    keys = cache->keys();
    y = attend_to(*cache, queries, heads_.queries, options);
  } else {
    const Variable packed = keys_and_values(encoded.hidden);
    keys = keys_of(packed.value());
    y = packed_cross_attention(queries, packed, heads_, options);
  }
  if (const TensorObserver* const observer = tape.options().observer) {
    const Tensor weights = attention_weights(heads_of(queries.value(), heads_.queries), keys, options);
    const std::int64_t rows = sizes[0] / batch, source_length = keys.size(2);
    (*observer)(kCrossAttentionWeights, weights.reshape({batch, heads_.queries, rows, sizes[1], source_length})
                                            .transpose(1, 2)
                                            .reshape({sizes[0], heads_.queries, sizes[1], source_length}));
  }
  return out.forward(reshape(y, sizes));
}

}  // namespace tapeformer
