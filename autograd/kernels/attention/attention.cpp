#include "autograd/kernels/attention/attention.h"

#include <algorithm>
#include <numeric>

#include "autograd/kernels/attention/attention_task.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace forward {

constexpr std::int64_t kBlocks = 4;  // blocks of one forward task, which transposes its keys once

template <class T>
struct Tensors {
  T* o;
  AttentionStrides o_strides;
  T* log_sum_exp;
  HeadsInput<T> q, k, v;
};

// What one thread goes through, block by block: the queries first to end − 1 of a head.
struct Queries {
  std::int64_t batch, head, first, end;

  std::int64_t blocks() const { return chunk_count(end - first, kBlockRows); }
};

// The tasks of attention's forward. The last blocks of a head, which are the long ones where attention is causal, come
// first: a thread that starts late then has little left to do.
struct Tasks {
  const AttentionShape& shape;
  std::int64_t groups = chunk_count(shape.queries, kBlocks* kBlockRows);  // of blocks, in each head

  std::int64_t count() const { return shape.batches * shape.heads * groups; }
  Queries at(std::int64_t number) const {
    const std::int64_t first = (groups - 1 - number % groups) * kBlocks * kBlockRows;
    const std::int64_t end = std::min(first + kBlocks * kBlockRows, shape.queries);
    return {number / groups / shape.heads, number / groups % shape.heads, first, end};
  }
};

template <class T, class Products>
struct Task {
  const AttentionShape& shape;
  const Tensors<T>& tensors;
  const Workspace<T>& workspace;
  Products& products;
  ReadAhead& ahead;
  const bool invariant;  // whether results must not depend on the number of queries
  // For few queries, as in generation, preparing the keys would cost more than it saves. The two ways add up in
  // different orders, so results that must not depend on the number of queries always come from the same one. It adds
  // up in parts that begin at the same keys wherever the first query of a block begins to see.
  const bool few = invariant ? !Products::kBatchInvariant
                             : skinny_gemm_takes<T>({}, true, shape.queries) && products.takes_few_queries();

  ScoreBlock block_at(const Queries& queries, std::int64_t first) const {
    const std::int64_t alignment = invariant ? std::lcm(Products::kKeyAlignment, kBandDepth) : Products::kKeyAlignment;
    return score_block(shape, queries.batch, queries.head, first, {0, shape.keys}, alignment, workspace);
  }
  // The keys that any of the queries sees.
  Keys keys_of_all(const Queries& queries) const {
    const std::int64_t last = queries.first + (queries.blocks() - 1) * kBlockRows;
    return {keys_of(block_at(queries, queries.first)).begin, keys_of(block_at(queries, last)).end};
  }

  // What the thread reads next, during block `number` of `queries`: the queries of the next block, and a part of the
  // keys and values of the task `next`, unless they are those of this one. null: there is no next task.
  void read_ahead(const Queries& queries, std::int64_t number, const Queries* next) const {
    ahead.clear();
    const bool is_last = number + 1 == queries.blocks();
    if (is_last && !next) return;
    const Queries& of = is_last ? *next : queries;
    const std::int64_t first = is_last ? next->first : queries.first + (number + 1) * kBlockRows;
    tensors.q.add_to(ahead, of.batch, of.head, first, std::min(kBlockRows, of.end - first), shape.query_dim);
    if (!next) return;
    const std::int64_t kv_head = next->head / shape.group;
    if (next->batch == queries.batch && kv_head == queries.head / shape.group) return;
    const Keys part = part_of(keys_of_all(*next), number, queries.blocks());
    tensors.k.add_to(ahead, next->batch, kv_head, part.begin, part.end - part.begin, shape.query_dim);
    tensors.v.add_to(ahead, next->batch, kv_head, part.begin, part.end - part.begin, shape.value_dim);
  }

  void run(const Queries& queries, const Queries* next) const {
    const std::int64_t batch = queries.batch, head = queries.head;
    const HeadRows<T> k = tensors.k.rows(batch, head / shape.group, 0),
                      v = tensors.v.rows(batch, head / shape.group, 0);
    T* const scores = workspace.scores;
    if (!few) {
      const Keys seen = keys_of_all(queries);
      products.take(k, v, seen.begin, seen.end - seen.begin);
    }
    for (std::int64_t number = 0; number < queries.blocks(); ++number) {
      const std::int64_t first = queries.first + number * kBlockRows;
      if (!few) read_ahead(queries, number, next);
      const ScoreBlock block = block_at(queries, first);
      T* const o = tensors.o + start_of(tensors.o_strides, batch, head, first);
      T* const log_sum_exp = tensors.log_sum_exp + (batch * shape.heads + head) * shape.queries + first;
      const HeadRows<T> q = tensors.q.rows(batch, head, first);
      if (few) {
        products.scores_of_few(scores, block, q, k);
        softmax_rows(scores, log_sum_exp, workspace.row_values, block);
        products.output_of_few(o, tensors.o_strides.row, scores, block, v);
      } else {
        products.scores(scores, block, q);
        softmax_rows(scores, log_sum_exp, workspace.row_values, block);
        products.output(o, tensors.o_strides.row, scores, block);
      }
      scale_rows(o, tensors.o_strides.row, workspace.row_values, block.rows, shape.value_dim);
    }
  }
};

}  // namespace forward

template <class T>
void attention_forward(T* o, AttentionStrides o_strides, T* log_sum_exp, const T* q, AttentionStrides q_strides,
                       const T* k, AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                       const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "attention_forward", {.flops = product_flops(shape) * 2});
  const forward::Tensors<T> tensors{.o = o,
                                    .o_strides = o_strides,
                                    .log_sum_exp = log_sum_exp,
                                    .q = {q, q_strides},
                                    .k = {k, k_strides},
                                    .v = {v, v_strides}};
  const forward::Tasks tasks{shape};
  const bool invariant = BatchInvariant::is_on();  // of this thread: those of the loop do not know it
  with_products<T>([&](const auto& make_products) {
    parallel_for(0, tasks.count(), 1, [&](std::int64_t number, std::int64_t) {
      const Workspace<T> workspace(shape, false);
      ReadAhead ahead;
      auto products = make_products(shape, workspace.ld, false, ahead);
      const forward::Task<T, decltype(products)> task{shape, tensors, workspace, products, ahead, invariant};
      // The thread's next task is mostly the next one of all.
      const bool is_last = number + 1 == tasks.count();
      const forward::Queries next = tasks.at(is_last ? number : number + 1);
      task.run(tasks.at(number), is_last ? nullptr : &next);
    });
  });
}

template void attention_forward(float*, AttentionStrides, float*, const float*, AttentionStrides, const float*,
                                AttentionStrides, const float*, AttentionStrides, const AttentionShape&);
template void attention_forward(double*, AttentionStrides, double*, const double*, AttentionStrides, const double*,
                                AttentionStrides, const double*, AttentionStrides, const AttentionShape&);

}  // namespace tapeformer::kernels
