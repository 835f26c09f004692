#include "autograd/kernels/attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/attention/attention_task.h"
#include "autograd/kernels/elementwise/bf16_numbers.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kPartKeys = 256;    // keys of a task
constexpr std::int64_t kWidenedKeys = 64;  // keys that are widened at a time: they stay in L1

// Calls f(rows, first, count) for all of `count` rows of `width` elements, widened to T some at a time if they are not
// T already. Rows are HeadRows<T>.
template <class T, class Stored, class F>
void for_widened(HeadRows<Stored> rows, std::int64_t count, std::int64_t width, const F& f) {
  if constexpr (std::is_same_v<T, Stored>) {
    f(rows, 0, count);
  } else {
    const Scratch<T> memory(kWidenedKeys * width);
    for (std::int64_t first = 0; first < count; first += kWidenedKeys) {
      const std::int64_t some = std::min(kWidenedKeys, count - first);
      for (std::int64_t i = 0; i < some; ++i) {
        widen_all(memory.data() + i * width, rows.data + (first + i) * rows.distance, width);
      }
      f(HeadRows<T>{memory.data(), width}, first, some);
    }
  }
}

// Rounds n numbers to bf16 where keys and values are.
template <class Stored, class T>
void round_like(T* to, const T* x, std::int64_t n) {
  if constexpr (std::is_same_v<T, Stored>) {
    std::copy_n(x, n, to);
  } else {
    const Scratch<Stored> rounded(n);
    round_all_to_bf16(rounded.data(), x, n);
    widen_all(to, rounded.data(), n);
  }
}

// The attention of the `heads` query heads of a group to `count` keys and values: out (heads, d_v), rows `distance`
// apart, and the log-sum-exp of each head; zeros and −∞ if there is no key.
template <class T, class Stored>
void attend_to_part(T* out, std::int64_t distance, T* log_sum_exp, HeadRows<T> q, HeadRows<Stored> k,
                    HeadRows<Stored> v, std::int64_t count, const AttentionShape& shape) {
  const std::int64_t heads = shape.group, d_v = shape.value_dim;
  constexpr std::int64_t ld = kPartKeys;
  const Scratch<T> scores(heads * ld), factors(heads), queries(heads * shape.query_dim);
  for (std::int64_t h = 0; h < heads; ++h) {
    round_like<Stored>(queries.data() + h * shape.query_dim, q.data + h * q.distance, shape.query_dim);
  }
  for_widened<T>(k, count, shape.query_dim, [&](HeadRows<T> keys, std::int64_t first, std::int64_t some) {
    skinny_gemm<T>(scores.data() + first, ld, {queries.data(), shape.query_dim}, {keys.data, keys.distance, true},
                   heads, some, shape.query_dim, static_cast<T>(shape.scale), 0);
  });
  ScoreBlock block{};
  block.rows = heads, block.cols = count, block.ld = ld, block.first_visible = count;
  softmax_rows(scores.data(), log_sum_exp, factors.data(), block);
  if constexpr (!std::is_same_v<T, Stored>) {
    for (std::int64_t h = 0; h < heads; ++h) round_like<Stored>(scores.data() + h * ld, scores.data() + h * ld, count);
  }
  if (count == 0) {
    for (std::int64_t h = 0; h < heads; ++h) std::fill_n(out + h * distance, d_v, T{0});
  }
  for_widened<T>(v, count, d_v, [&](HeadRows<T> values, std::int64_t first, std::int64_t some) {
    band_gemm<T>(out, distance, {scores.data() + first, ld, 1}, values.data, values.distance, heads, d_v, some, 1,
                 first == 0 ? 0 : 1);
  });
  scale_rows(out, distance, factors.data(), heads, d_v);
}

// out (d_v) = the mean of `parts` outputs, d_v elements each and `distance` apart, weighted by the sums of exponentials
// that their log-sum-exps say; these are `step` apart.
template <class T>
void join_parts(T* out, const T* outputs, std::int64_t distance, const T* log_sum_exps, std::int64_t step,
                std::int64_t parts, std::int64_t d_v) {
  T most = -std::numeric_limits<T>::infinity(), total = 0;
  for (std::int64_t p = 0; p < parts; ++p) {
    const T sum = log_sum_exps[p * step];
    if (sum > most || std::isnan(sum)) most = sum;  // a NaN stays, and so do the outputs' NaN
  }
  std::fill_n(out, d_v, T{0});
  if (most == -std::numeric_limits<T>::infinity()) return;  // no key is seen
  for (std::int64_t p = 0; p < parts; ++p) {
    const T weight = std::exp(log_sum_exps[p * step] - most);
    total += weight;
    for (std::int64_t i = 0; i < d_v; ++i) out[i] += weight * outputs[p * distance + i];
  }
  for (std::int64_t i = 0; i < d_v; ++i) out[i] /= total;
}

}  // namespace

bool cached_attention_takes(const AttentionShape& shape) {
  return shape.queries == 1 && shape.dropout == 0 && shape.group <= kBlockRows;
}

template <class T, class Stored>
void cached_attention(T* o, AttentionStrides o_strides, const T* q, AttentionStrides q_strides, const Stored* k,
                      AttentionStrides k_strides, const Stored* v, AttentionStrides v_strides,
                      const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "cached_attention", {.flops = product_flops(shape) * 2});
  const std::int64_t parts = std::max<std::int64_t>(1, chunk_count(shape.keys, kPartKeys));
  const std::int64_t groups = shape.batches * shape.kv_heads(), heads = shape.group, d_v = shape.value_dim;
  // Each part of the keys has an output and a log of its sum for every head of every group.
  const Scratch<T> outputs(parts > 1 ? groups * parts * heads * d_v : 0), log_sum_exps(groups * parts * heads);
  const auto output = [&](std::int64_t group) {
    return o + start_of(o_strides, group / shape.kv_heads(), group % shape.kv_heads() * heads, 0);
  };
  parallel_for(0, groups * parts, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t group = task / parts, batch = group / shape.kv_heads(), head = group % shape.kv_heads();
    std::int64_t begin = task % parts * kPartKeys, end = std::min(shape.keys, begin + kPartKeys);
    if (shape.key_begin) begin = std::max<std::int64_t>(begin, shape.key_begin[batch]);
    if (shape.key_lengths) end = std::min<std::int64_t>(end, shape.key_lengths[batch]);
    attend_to_part<T, Stored>(
        parts > 1 ? outputs.data() + task * heads * d_v : output(group), parts > 1 ? d_v : o_strides.head,
        log_sum_exps.data() + task * heads, {q + start_of(q_strides, batch, head * heads, 0), q_strides.head},
        {k + start_of(k_strides, batch, head, begin), k_strides.row},
        {v + start_of(v_strides, batch, head, begin), v_strides.row}, std::max<std::int64_t>(0, end - begin), shape);
  });
  if (parts == 1) return;
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t h = 0; h < heads; ++h) {
      join_parts(output(group) + h * o_strides.head, outputs.data() + (group * parts * heads + h) * d_v, heads * d_v,
                 log_sum_exps.data() + group * parts * heads + h, heads, parts, d_v);
    }
  }
}

template void cached_attention(float*, AttentionStrides, const float*, AttentionStrides, const float*, AttentionStrides,
                               const float*, AttentionStrides, const AttentionShape&);
template void cached_attention(float*, AttentionStrides, const float*, AttentionStrides, const Bf16*, AttentionStrides,
                               const Bf16*, AttentionStrides, const AttentionShape&);
template void cached_attention(double*, AttentionStrides, const double*, AttentionStrides, const double*,
                               AttentionStrides, const double*, AttentionStrides, const AttentionShape&);

}  // namespace tapeformer::kernels
