#include "autograd/kernels/attention/attention.h"

#include <algorithm>
#include <numeric>

#include "autograd/kernels/attention/attention_task.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kForwardBlocks = 4;  // blocks of one forward task, which transposes its keys once

}  // namespace

template <class T>
void attention_forward(T* o, AttentionStrides o_strides, T* log_sum_exp, const T* q, AttentionStrides q_strides,
                       const T* k, AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                       const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "attention_forward", {.flops = product_flops(shape) * 2});
  const std::int64_t blocks = chunk_count(shape.queries, kBlockRows), groups = chunk_count(blocks, kForwardBlocks);
  // For few queries, as in generation, preparing the keys would cost more than it saves. The two ways add up in
  // different orders, so results that must not depend on the number of queries always come from the same one. It adds
  // up in parts that begin at the same keys wherever the first query of a block begins to see.
  const bool invariant = BatchInvariant::is_on(), few_queries = skinny_gemm_takes<T>({}, true, shape.queries);
  const auto forward = [&](const auto& make_products) {
    parallel_for(0, shape.batches * shape.heads * groups, 1, [&](std::int64_t i, std::int64_t) {
      // The last blocks, which are the long ones where attention is causal, come first: a thread that starts late then
      // has little left to do.
      const std::int64_t group = groups - 1 - i % groups, end = std::min(blocks, (group + 1) * kForwardBlocks);
      const std::int64_t batch = i / groups / shape.heads, head = i / groups % shape.heads;
      const Workspace<T> workspace(shape, false);
      auto products = make_products(shape, workspace.ld, false);
      const bool few = invariant ? !products.kBatchInvariant : few_queries && products.takes_few_queries();
      T* const scores = workspace.scores;
      const T* const k_head = k + start_of(k_strides, batch, head / shape.group, 0);
      const T* const v_head = v + start_of(v_strides, batch, head / shape.group, 0);
      const auto block_at = [&](std::int64_t first) {
        const std::int64_t alignment =
            invariant ? std::lcm(products.kKeyAlignment, kBandDepth) : products.kKeyAlignment;
        return score_block(shape, batch, head, first, {0, shape.keys}, alignment, workspace);
      };
      if (!few) {
        const std::int64_t begin = keys_of(block_at(group * kForwardBlocks * kBlockRows)).begin;
        const std::int64_t seen = keys_of(block_at((end - 1) * kBlockRows)).end;
        products.take({k_head, k_strides.row}, {v_head, v_strides.row}, begin, seen - begin);
      }
      for (std::int64_t first = group * kForwardBlocks * kBlockRows; first < std::min(end * kBlockRows, shape.queries);
           first += kBlockRows) {
        const ScoreBlock block = block_at(first);
        T* const o_block = o + start_of(o_strides, batch, head, first);
        T* const lse_block = log_sum_exp + (batch * shape.heads + head) * shape.queries + first;
        const T* const q_block = q + start_of(q_strides, batch, head, first);
        if (few) {
          products.scores_of_few(scores, block, {q_block, q_strides.row}, {k_head, k_strides.row});
          softmax_rows(scores, lse_block, workspace.row_values, block);
          products.output_of_few(o_block, o_strides.row, scores, block, {v_head, v_strides.row});
        } else {
          products.scores(scores, block, {q_block, q_strides.row});
          softmax_rows(scores, lse_block, workspace.row_values, block);
          products.output(o_block, o_strides.row, scores, block);
        }
        scale_rows(o_block, o_strides.row, workspace.row_values, block.rows, shape.value_dim);
      }
    });
  };
  with_products<T>(forward);
}

template void attention_forward(float*, AttentionStrides, float*, const float*, AttentionStrides, const float*,
                                AttentionStrides, const float*, AttentionStrides, const AttentionShape&);
template void attention_forward(double*, AttentionStrides, double*, const double*, AttentionStrides, const double*,
                                AttentionStrides, const double*, AttentionStrides, const AttentionShape&);

}  // namespace tapeformer::kernels
