#include "nn/attention/attention.h"

#include <algorithm>
#include <array>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

std::int64_t head_dim(const BlockConfig& config) {
  if (config.head_dim > 0) return config.head_dim;
  if (config.heads < 1 || config.dim % config.heads != 0) {
    fail_usage("model.heads: ", config.heads, " does not divide model.dim, which is ", config.dim);
  }
  return config.dim / config.heads;
}

HeadLayout head_layout(const BlockConfig& config) {
  const std::int64_t d = head_dim(config);
  if (config.kv_heads < 0 || (config.kv_heads > 0 && config.heads % config.kv_heads != 0)) {
    fail_usage("model.kv_heads: ", config.kv_heads, " does not divide model.heads, which is ", config.heads);
  }
  return {config.heads, config.kv_heads, config.value_dim > 0 ? config.value_dim : d};
}

namespace {

// The total widths of all heads: of a token's keys, of its values, of its queries, and of the output.
std::int64_t key_width(const BlockConfig& config) { return head_layout(config).keys * head_dim(config); }
std::int64_t value_width(const BlockConfig& config) { return head_layout(config).keys * head_layout(config).value_dim; }
std::int64_t query_width(const BlockConfig& config) { return config.heads * head_dim(config); }
std::int64_t output_width(const BlockConfig& config) { return config.heads * head_layout(config).value_dim; }

std::unique_ptr<RmsNorm> head_norm(const BlockConfig& config) {
  if (!config.qk_norm) return nullptr;
  auto norm = std::make_unique<RmsNorm>(head_dim(config), config.norm_eps, config.dtype);
  norm->refuse_hooks("the norm of the heads is part of an op of the attention, and has no output of its own");
  return norm;
}

Variable weight_of(const std::unique_ptr<RmsNorm>& norm) { return norm ? norm->weight : Variable(); }

// Splits rows into heads: (B, T, heads·d) → (B, heads, T, d).
Tensor heads_of(const Tensor& rows, std::int64_t heads) {
  return rows.reshape({rows.size(0), rows.size(1), heads, rows.size(2) / heads}).transpose(1, 2);
}

// Computes the attention of queries (B, T, h·d) to keys and values (B, g, S, d) → (B, T, h·d_v).
Variable attend_to(const Tensor& keys, const Tensor& values, const Variable& queries, std::int64_t heads,
                   const AttentionOptions& options) {
  const Tensor y = cached_attention(heads_of(queries.value(), heads), keys, values, options);
  return Variable::constant(*queries.tape(), y.transpose(1, 2).reshape({queries.size(0), queries.size(1), -1}));
}

// Returns what each head adds to the output, (B, h, T, dim): its part of `rows` (B, T, h·d_v) times its columns of W_O.
Tensor head_outputs(const Tensor& rows, std::int64_t heads, const Linear& out) {
  Tape tape(no_grad);
  const std::int64_t batch = rows.size(0), length = rows.size(1), d = rows.size(2) / heads, dim = out.weight.size(0);
  const Tensor parts = heads_of(rows, heads).transpose(0, 1).reshape({heads, batch * length, d});
  const Tensor columns = out.merged_weight().to(rows.dtype()).reshape({dim, heads, d}).permute({1, 2, 0});
  return matmul(Variable::constant(tape, parts), Variable::constant(tape, columns))
      .value()
      .reshape({heads, batch, length, dim})
      .transpose(0, 1);
}

void require_no_recording(const Tape& tape) {
  check(!tape.options().record, "attention: a key/value cache works without recording only");
}

}  // namespace

AttentionHeads::AttentionHeads(const BlockConfig& config)
    : HeadLayout(head_layout(config)),
      dim(head_dim(config)),
      q_norm(head_norm(config)),
      k_norm(head_norm(config)),
      transform{.norm_eps = config.norm_eps},
      scale(config.attention_scale),
      dropout(config.attention_dropout),
      kind(config.attention_kind) {}

MultiHeadAttention::MultiHeadAttention(const BlockConfig& config)
    : qkv(config.dim, query_width(config) + key_width(config) + value_width(config), config.bias.attention, config.init,
          config.dtype, ParameterRole::stacked({query_width(config), key_width(config), value_width(config)})),
      out(output_width(config), config.dim, config.bias.attention_out, config.residual_init, config.dtype),
      heads_(config) {
  register_module("qkv", qkv);
  if (heads_.q_norm) register_module("q_norm", *heads_.q_norm);
  if (heads_.k_norm) register_module("k_norm", *heads_.k_norm);
  register_module("out", out);
  if (config.value_residual) value_mix = register_parameter("value_mix", {1}, config.dtype, Init::constant(0.5));
}

Variable MultiHeadAttention::forward(Variable x, const SelfMask& mask, KeyValueCache* cache, const Rotation& rotation,
                                     const FirstLayerValues& first, LinearAttentionCache* linear) const {
  return call([&] { return run(std::move(x), mask, cache, rotation, first, linear); });
}

Variable MultiHeadAttention::mix_values(const Variable& packed, std::int64_t begin,
                                        const FirstLayerValues& first) const {
  if (!first.store_to && !value_mix.defined()) return packed;
  const Variable own = slice(packed, 2, begin, packed.size(2));
  if (first.store_to) *first.store_to = own;
  if (!value_mix.defined()) return packed;
  check(first.values.defined(), "attention: a value residual needs the values of the first layer");
  const Variable mixed = add(first.values, mul(sub(own, first.values), value_mix));
  return concat(std::array{slice(packed, 2, 0, begin), mixed}, -1);
}

Variable MultiHeadAttention::run_linear(const Variable& packed, const SelfMask& mask,
                                        LinearAttentionCache* cache) const {
  const std::int64_t batch = packed.size(0), length = packed.size(1), d = heads_.dim, d_v = heads_.value_dim;
  check(mask.causal && !mask.lengths.defined(), "linear attention: expected a causal mask without lengths");
  const auto heads = [&](const Variable& rows, const std::unique_ptr<RmsNorm>& norm, std::int64_t count) {
    const Variable x = norm ? transform_heads(rows, norm->weight, count, heads_.transform) : rows;
    return transpose(reshape(x, {batch, length, count, -1}), 1, 2);
  };
  const auto parts = split(packed, std::array{heads_.queries * d, heads_.keys * d, heads_.keys * d_v}, 2);
  LinearAttentionOptions options{.key_begin = mask.key_begin};
  if (cache) {
    require_no_recording(*packed.tape());
    options.state = cache->extend({batch, heads_.keys, d, d_v + 1}, packed.dtype(), length);
  }
  const Variable q = heads(parts[0], heads_.q_norm, heads_.queries), k = heads(parts[1], heads_.k_norm, heads_.keys);
  const Variable y = linear_attention(q, k, heads(parts[2], nullptr, heads_.keys), options);
  const Variable rows = reshape(transpose(y, 1, 2), {batch, length, -1});
  if (const TensorObserver* const observer = packed.tape()->options().observer; observer && !cache) {
    (*observer)(kSelfAttentionWeights,
                [&] { return linear_attention_weights(q.value(), k.value(), options.key_begin); });
    (*observer)(kSelfAttentionHeads, [&] { return head_outputs(rows.value(), heads_.queries, out); });
  }
  return out.forward(rows);
}

Variable MultiHeadAttention::run(Variable x, const SelfMask& mask, KeyValueCache* cache, const Rotation& rotation,
                                 const FirstLayerValues& first, LinearAttentionCache* linear) const {
  const std::int64_t keys = heads_.queries * heads_.dim, values = keys + heads_.keys * heads_.dim;
  const Variable packed = mix_values(qkv.forward(x), values, first);
  x = {};
  if (heads_.kind == AttentionKind::linear) {
    check(!rotation.table.defined(), "linear attention: expected no rotation of queries and keys");
    return run_linear(packed, mask, linear);
  }
  const AttentionOptions options{.causal = mask.causal,
                                 .key_lengths = mask.lengths,
                                 .key_begin = mask.key_begin,
                                 .dropout = heads_.dropout,
                                 .scale = heads_.scale};
  HeadTransform transform = heads_.transform;
  transform.rotation = rotation;
  Tape& tape = *packed.tape();
  const TensorObserver* const observer = tape.options().observer;
  const Tensor rows = cache || observer ? packed.value() : Tensor();
  const auto transformed = [&](const Tensor& part, const std::unique_ptr<RmsNorm>& norm, std::int64_t heads) {
    const Variable x = Variable::constant(tape, part);
    return norm || rotation.table.defined() ? transform_heads(x, weight_of(norm), heads, transform) : x;
  };
  const auto queries = [&] { return transformed(rows.slice(2, 0, keys), heads_.q_norm, heads_.queries); };
  const auto keys_of = [&] { return transformed(rows.slice(2, keys, values), heads_.k_norm, heads_.keys); };
  if (!cache) {
    const Variable y =
        packed_self_attention(packed, heads_, options, {weight_of(heads_.q_norm), weight_of(heads_.k_norm)}, transform);
    if (observer) {
      (*observer)(kSelfAttentionWeights, [&] {
        return attention_weights(heads_of(queries().value(), heads_.queries), heads_of(keys_of().value(), heads_.keys),
                                 options);
      });
      (*observer)(kSelfAttentionHeads, [&] { return head_outputs(y.value(), heads_.queries, out); });
    }
    return out.forward(y);
  }
  require_no_recording(tape);
  const Tensor k = heads_of(keys_of().value(), heads_.keys);
  const Tensor v = heads_of(rows.slice(2, values, rows.size(2)), heads_.keys);
  cache->append(k, v);
  // The first tokens attend to their keys and values as computed, not to the cache's, which may be rounded to bf16.
  const bool first_tokens = cache->length() == k.size(2) && k.size(2) > 1;
  return out.forward(attend_to(first_tokens ? k : cache->keys(), first_tokens ? v : cache->values(), queries(),
                               heads_.queries, options));
}

CrossAttention::CrossAttention(const BlockConfig& config)
    : q(config.dim, query_width(config), config.bias.attention, config.init, config.dtype),
      kv(config.dim, key_width(config) + value_width(config), config.bias.attention, config.init, config.dtype,
         ParameterRole::stacked({key_width(config), value_width(config)})),
      out(output_width(config), config.dim, config.bias.attention_out, config.residual_init, config.dtype),
      heads_(config) {
  register_module("q", q);
  if (heads_.q_norm) register_module("q_norm", *heads_.q_norm);
  register_module("kv", kv);
  if (heads_.k_norm) register_module("k_norm", *heads_.k_norm);
  register_module("out", out);
}

Variable CrossAttention::keys_and_values(const Variable& encoded) const {
  const Variable packed = kv.forward(encoded);
  if (!heads_.k_norm) return packed;
  const std::int64_t width = heads_.keys * heads_.dim;
  const Variable keys =
      transform_heads(slice(packed, 2, 0, width), heads_.k_norm->weight, heads_.keys, heads_.transform);
  return concat(std::array{keys, slice(packed, 2, width, packed.size(2))}, -1);
}

Variable CrossAttention::forward(Variable x, const EncoderOutput& encoded, KeyValueCache* cache) const {
  return call([&] { return run(std::move(x), encoded, cache); });
}

Variable CrossAttention::run(Variable x, const EncoderOutput& encoded, KeyValueCache* cache) const {
  const Dims sizes = x.sizes();
  const std::int64_t batch = encoded.hidden.size(0);
  check(sizes[0] % batch == 0, "cross-attention: ", sizes[0], " rows cannot share ", batch, " encoded ones");
  // Cross-attention is not causal, so the rows that attend to the same encoded row can be joined into one sequence of
  // queries.
  Variable queries = reshape(q.forward(x), {batch, -1, heads_.queries * heads_.dim});
  x = {};
  if (heads_.q_norm) queries = transform_heads(queries, heads_.q_norm->weight, heads_.queries, heads_.transform);
  const AttentionOptions options{.key_lengths = encoded.lengths, .dropout = heads_.dropout, .scale = heads_.scale};
  Tape& tape = *queries.tape();
  const std::int64_t values = heads_.keys * heads_.dim;  // the index where the values begin in a row
  const auto keys_of = [&](const Tensor& rows) { return heads_of(rows.slice(2, 0, values), heads_.keys); };
  Variable y;
  Tensor keys;
  if (cache) {
    require_no_recording(tape);
    if (cache->length() == 0) {
      const Tensor rows = keys_and_values(encoded.hidden).value();
      cache->append(keys_of(rows), heads_of(rows.slice(2, values, rows.size(2)), heads_.keys));
    }
    keys = cache->keys();
    y = attend_to(keys, cache->values(), queries, heads_.queries, options);
  } else {
    const Variable packed = keys_and_values(encoded.hidden);
    keys = keys_of(packed.value());
    y = packed_cross_attention(queries, packed, heads_, options);
  }
  const Variable read = reshape(y, {sizes[0], sizes[1], -1});  // (R, T, h·d_v)
  if (const TensorObserver* const observer = tape.options().observer) {
    (*observer)(kCrossAttentionWeights, [&] {
      const Tensor weights =
          attention_weights(heads_of(queries.value(), heads_.queries), keys.to(queries.dtype()), options);
      const std::int64_t rows = sizes[0] / batch, source_length = keys.size(2);
      return weights.reshape({batch, heads_.queries, rows, sizes[1], source_length})
          .transpose(1, 2)
          .reshape({sizes[0], heads_.queries, sizes[1], source_length});
    });
    (*observer)(kCrossAttentionHeads, [&] { return head_outputs(read.value(), heads_.queries, out); });
  }
  return out.forward(read);
}

}  // namespace tapeformer
