#include "nn/attention.h"

#include <algorithm>

#include "autograd/ops/attention.h"
#include "autograd/ops/layers.h"
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

// (R, T, dim) → (batch, h, R·T/batch, d_k)
Variable split_heads(const Variable& x, std::int64_t batch, std::int64_t heads) {
  return transpose(reshape(x, {batch, -1, heads, x.size(2) / heads}), 1, 2);
}

// The opposite, to the sizes (R, T, dim).
Variable join_heads(const Variable& x, const Dims& sizes) { return reshape(transpose(x, 1, 2), sizes); }

void require_no_recording(const Tape& tape) {
  check(!tape.options().record, "attention: a key/value cache works without recording only");
}

}  // namespace

Tensor select_rows(const Tensor& x, std::span<const std::int64_t> rows) {
  const std::vector<std::int32_t> ids(rows.begin(), rows.end());
  Dims sizes = x.sizes();
  sizes[0] = static_cast<std::int64_t>(ids.size());
  Tape tape(no_grad);
  const Variable table = Variable::constant(tape, x.reshape({x.size(0), -1}));
  const Tensor places = Tensor::from(std::span<const std::int32_t>(ids), {sizes[0]});
  return embedding(table, Variable::constant(tape, places)).value().reshape(sizes);
}

// Room for `length` tokens, of rows, heads and widths as those of k, keeping what is there.
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
  const Dims sizes = x.sizes(), thirds = Dims::filled(3, sizes[2]);
  std::vector<Variable> parts = split(qkv.forward(x), thirds, -1);
  x = {};
  for (Variable& part : parts) part = split_heads(part, sizes[0], heads_);
  if (cache) {
    Tape& tape = *parts[0].tape();
    require_no_recording(tape);
    cache->append(parts[1].value(), parts[2].value());
    parts[1] = Variable::constant(tape, cache->keys());
    parts[2] = Variable::constant(tape, cache->values());
  }
  const AttentionOptions options{
      .causal = mask.causal, .key_lengths = mask.lengths, .key_begin = mask.key_begin, .dropout = dropout_};
  return out.forward(join_heads(scaled_dot_product_attention(parts[0], parts[1], parts[2], options), sizes));
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
  const Dims sizes = x.sizes(), halves = Dims::filled(2, sizes[2]);
  const std::int64_t batch = encoded.hidden.size(0);
  check(sizes[0] % batch == 0, "cross-attention: ", sizes[0], " rows cannot share ", batch, " encoded ones");
  // Nothing is causal here, so rows that look at the same encoded row can be queries side by side.
  const Variable queries = split_heads(q.forward(x), batch, heads_);
  x = {};
  Tape& tape = *queries.tape();
  Variable keys, values;
  if (cache && cache->length() > 0) {
    keys = Variable::constant(tape, cache->keys()), values = Variable::constant(tape, cache->values());
  } else {
    const std::vector<Variable> parts = split(kv.forward(encoded.hidden), halves, -1);
    keys = split_heads(parts[0], batch, heads_), values = split_heads(parts[1], batch, heads_);
    if (cache) {
      require_no_recording(tape);
      cache->append(keys.value(), values.value());
    }
  }
  const AttentionOptions options{.key_lengths = encoded.lengths, .dropout = dropout_};
  return out.forward(join_heads(scaled_dot_product_attention(queries, keys, values, options), sizes));
}

}  // namespace tapeformer
