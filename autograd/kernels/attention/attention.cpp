#include "autograd/kernels/attention/attention.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "autograd/kernels/attention/attention_products.h"
#include "autograd/kernels/attention/attention_rows.h"
#include "autograd/kernels/gemm/band_gemm.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "autograd/kernels/scratch.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kForwardBlocks = 4;  // blocks of one forward task, which transposes its keys once
constexpr std::int64_t kManyHeads = 16;     // this many heads give every thread enough tasks
constexpr std::int64_t kKeyRange = 512;     // keys of one backward task where there are fewer heads
constexpr std::size_t kCacheLine = 64;

// Divides a workspace into arrays that are aligned to cache lines.
struct Arrays {
  std::size_t used = 0;
  std::byte* memory = nullptr;  // null: only the room is counted

  template <class T>
  T* take(std::int64_t count) {
    const std::size_t begin = used;
    used += (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return memory ? reinterpret_cast<T*>(memory + begin) : nullptr;
  }
};

// The memory of one task, for one block of queries at a time.
template <class T>
struct Workspace {
  std::int64_t ld;  // between the rows of scores and dweights, which are as wide as the keys
  T *scores, *dweights, *row_values;
  T* dq;  // (rows, d_k): what a range of keys adds to dQ
  std::uint32_t* words;
  std::int32_t* first_seen;  // of each row of a block

  Workspace(const AttentionShape& shape, bool backward) : ld(row_distance(shape)), memory_(room(shape, backward)) {
    Arrays arrays{0, memory_.data()};
    place(arrays, shape, backward);
  }

 private:
  // One cache line more than a row needs, so that rows of 4096 bytes do not all compete for the same cache sets.
  static std::int64_t row_distance(const AttentionShape& shape) {
    constexpr std::int64_t kLine = kCacheLine / sizeof(T);
    return (shape.keys + kLine - 1) / kLine * kLine + kLine;
  }
  std::int64_t room(const AttentionShape& shape, bool backward) {
    Arrays arrays;
    place(arrays, shape, backward);
    return static_cast<std::int64_t>(arrays.used);
  }
  void place(Arrays& arrays, const AttentionShape& shape, bool backward) {
    const std::int64_t rows = std::min(kBlockRows, shape.queries);
    scores = arrays.take<T>(rows * ld);
    dweights = backward ? arrays.take<T>(rows * ld) : nullptr;
    row_values = arrays.take<T>(rows);
    dq = backward ? arrays.take<T>(rows * shape.query_dim) : nullptr;
    words = shape.dropout > 0 ? arrays.take<std::uint32_t>(dropout_words_room(shape.keys)) : nullptr;
    first_seen = shape.key_begin ? arrays.take<std::int32_t>(rows) : nullptr;
  }

  Scratch<std::byte> memory_;
};

std::int64_t start_of(const AttentionStrides& strides, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return batch * strides.batch + head * strides.head + row * strides.row;
}

// The keys begin to end − 1 of a head.
struct Keys {
  std::int64_t begin, end;
};
Keys keys_of(const ScoreBlock& block) { return {block.first_key, block.first_key + block.cols}; }

// The block of queries of one head that begins at query `first`, over the given keys. The keys before the first and
// after the last one that any of these queries sees are left out, but the first key stays a multiple of `alignment`.
template <class T>
ScoreBlock score_block(const AttentionShape& shape, std::int64_t batch, std::int64_t head, std::int64_t first,
                       const Keys& keys, std::int64_t alignment, const Workspace<T>& workspace) {
  ScoreBlock block;
  block.rows = std::min(kBlockRows, shape.queries - first);
  block.ld = workspace.ld;
  block.causal = shape.causal;
  std::int64_t end = shape.keys;
  if (shape.key_lengths) end = std::clamp<std::int64_t>(shape.key_lengths[batch], 0, end);
  block.first_visible = shape.keys;
  if (shape.causal) {
    block.first_visible = first + shape.keys - shape.queries + 1;
    end = std::clamp<std::int64_t>(block.first_visible + block.rows - 1, 0, end);
  }
  end = std::clamp(end, keys.begin, keys.end);
  const std::int32_t* const key_begin = shape.key_begin ? shape.key_begin + batch * shape.queries + first : nullptr;
  block.first_key = key_begin ? std::clamp<std::int64_t>(key_begin[0], keys.begin, end) : keys.begin;
  block.first_key -= (block.first_key - keys.begin) % alignment;
  block.cols = end - block.first_key;
  block.first_visible -= block.first_key;
  block.first_seen = workspace.first_seen;
  for (std::int64_t r = 0; key_begin && r < block.rows; ++r) {
    workspace.first_seen[r] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(key_begin[r] - block.first_key, 0, block.cols));
  }
  block.dropout = shape.dropout;
  block.key = shape.dropout_key;
  block.words_per_row = shape.keys;
  block.first_word = ((batch * shape.heads + head) * shape.queries + first) * shape.keys + block.first_key;
  block.words = workspace.words;
  return block;
}

// Floating point operations of one product Q Kᵀ in all heads, without those that the masks save: half of them where
// attention is causal, and those of the keys before each query's first one.
double product_flops(const AttentionShape& shape) {
  double seen = 1.0 * shape.batches * shape.queries * shape.keys / (shape.causal ? 2 : 1);
  for (std::int64_t i = 0; shape.key_begin && i < shape.batches * shape.queries; ++i) seen -= shape.key_begin[i];
  return 2 * seen * shape.heads * shape.query_dim;
}

// Calls f with what makes the products of a task: make(shape, ld, backward).
template <class T, class F>
void with_products(const F& f) {
  if constexpr (std::is_same_v<T, float>) {
    const MatmulPrecision precision = MatmulPrecisionScope::current();
    if (precision != MatmulPrecision::highest) {
      return f([&unit = bf16_unit(), split = precision == MatmulPrecision::high](const AttentionShape& shape,
                                                                                 std::int64_t ld, bool backward) {
        return Bf16Products(shape, ld, backward, unit, split);
      });
    }
  }
  f([](const AttentionShape& shape, std::int64_t ld, bool backward) { return BandProducts<T>(shape, ld, backward); });
}

// Makes the ranges of keys of one head add to dQ in their order, whichever threads work on them: a range waits until
// the one before it has added to the same block of queries. So dQ has the same bits for any number of threads, and no
// range needs memory for more than one block. A parallel loop begins tasks in order, so whoever waits, waits for a task
// that has begun.
class RangeOrder {
 public:
  explicit RangeOrder(std::int64_t tasks) : blocks_done_(tasks) {}

  // While it lives, `task` is under way; afterwards nobody waits for it, even if it ended by an exception.
  class Task {
   public:
    Task(RangeOrder& order, std::int64_t task) : done_(order.blocks_done_[task]) {}
    ~Task() { announce(std::numeric_limits<int>::max()); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    void finish_block() { announce(done_.load(std::memory_order_relaxed) + 1); }

   private:
    void announce(int blocks) {
      done_.store(blocks, std::memory_order_release);
      done_.notify_all();
    }
    std::atomic<int>& done_;
  };

  // Returns when `task` has finished this many blocks.
  void wait(std::int64_t task, int blocks) const {
    const std::atomic<int>& done = blocks_done_[task];
    for (int seen = done.load(std::memory_order_acquire); seen < blocks; seen = done.load(std::memory_order_acquire)) {
      done.wait(seen, std::memory_order_acquire);
    }
  }

 private:
  std::vector<std::atomic<int>> blocks_done_;
};

}  // namespace

template <class T>
void attention_forward(T* o, AttentionStrides o_strides, T* log_sum_exp, const T* q, AttentionStrides q_strides,
                       const T* k, AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                       const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "attention_forward", {.flops = product_flops(shape) * 2});
  const std::int64_t blocks = chunk_count(shape.queries, kBlockRows), groups = chunk_count(blocks, kForwardBlocks);
  // For few queries, as in generation, preparing the keys would cost more than it saves. The two ways add up in
  // different orders, so results that must not depend on the number of queries always come from the same one.
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
        return score_block(shape, batch, head, first, {0, shape.keys}, products.kKeyAlignment, workspace);
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

// A task is a range of the keys of one head of K and V: all keys where there are enough heads for all threads, else
// kKeyRange of them, so that few heads of long sequences occupy many threads. Each task goes through all query heads of
// the group and all their blocks of queries, the last one first, and adds to the dK and dV of its keys. Beta is applied
// once: by the products of the first head's last block for the keys that it sees (usually all that any block sees), and
// beforehand for the others. The first range applies dQ's beta and writes to dQ itself; each further range computes its
// part of a block in its workspace and adds it in turn.
template <class T>
void attention_backward(AttentionGradient<T> dq, AttentionGradient<T> dk, AttentionGradient<T> dv, const T* dout,
                        AttentionStrides dout_strides, const T* o, AttentionStrides o_strides, const T* log_sum_exp,
                        const T* q, AttentionStrides q_strides, const T* k, AttentionStrides k_strides, const T* v,
                        AttentionStrides v_strides, const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "attention_backward", {.flops = product_flops(shape) * 5});
  const T scale = static_cast<T>(shape.scale);
  const std::int64_t heads = shape.batches * shape.kv_heads(), dim = shape.query_dim;
  const std::int64_t range = heads >= kManyHeads ? std::max<std::int64_t>(shape.keys, 1) : kKeyRange;
  const std::int64_t ranges = std::max<std::int64_t>(1, chunk_count(shape.keys, range));
  RangeOrder order(heads * ranges);

  const auto backward = [&](const auto& make_products) {
    parallel_for(0, heads * ranges, 1, [&](std::int64_t task, std::int64_t) {
      RangeOrder::Task under_way(order, task);
      const std::int64_t batch = task / ranges / shape.kv_heads(), kv_head = task / ranges % shape.kv_heads();
      const std::int64_t first_key = task % ranges * range;
      const Keys keys{first_key, std::min(first_key + range, shape.keys)};
      const Workspace<T> workspace(shape, true);
      auto products = make_products(shape, workspace.ld, true);
      T *const scores = workspace.scores, *const dweights = workspace.dweights;
      const std::int64_t last = (chunk_count(shape.queries, kBlockRows) - 1) * kBlockRows;
      const auto block_at = [&](std::int64_t head, std::int64_t first) {
        return score_block(shape, batch, head, first, keys, products.kKeyAlignment, workspace);
      };
      // The keys that the last block sees, of every head.
      const Keys seen = shape.queries > 0 ? keys_of(block_at(kv_head * shape.group, last)) : Keys{first_key, first_key};
      products.take({k + start_of(k_strides, batch, kv_head, 0), k_strides.row},
                    {v + start_of(v_strides, batch, kv_head, 0), v_strides.row}, first_key, seen.end - first_key);

      // Multiplies by beta, as a product with an inner size of 0.
      const auto apply_beta = [&](const AttentionGradient<T>& gradient, std::int64_t width, const Keys& of) {
        if (!gradient.data) return;
        T* const start = gradient.data + start_of(gradient.strides, batch, kv_head, of.begin);
        band_gemm<T>(start, gradient.strides.row, {start, 0, 0}, start, 0, of.end - of.begin, width, 0, 0,
                     gradient.beta);
      };
      for (const Keys& of : {Keys{keys.begin, seen.begin}, Keys{seen.end, keys.end}}) {
        apply_beta(dk, dim, of);
        apply_beta(dv, shape.value_dim, of);
      }

      int blocks = 0;
      for (std::int64_t head = kv_head * shape.group; head < (kv_head + 1) * shape.group; ++head) {
        for (std::int64_t first = last; first >= 0; first -= kBlockRows) {
          const ScoreBlock block = block_at(head, first);
          const HeadRows<T> q_rows{q + start_of(q_strides, batch, head, first), q_strides.row};
          const HeadRows<T> dout_rows{dout + start_of(dout_strides, batch, head, first), dout_strides.row};

          dot_rows(workspace.row_values, dout_rows.data, dout_rows.distance,
                   o + start_of(o_strides, batch, head, first), o_strides.row, block.rows, shape.value_dim);
          products.scores(scores, block, q_rows);
          products.dweights(dweights, block, dout_rows);
          gradient_rows(scores, dweights, log_sum_exp + (batch * shape.heads + head) * shape.queries + first,
                        workspace.row_values, block);

          const bool is_first = first == last && head == kv_head * shape.group;
          if (dv.data) {
            products.key_gradient(dv.data + start_of(dv.strides, batch, kv_head, block.first_key), dv.strides.row,
                                  scores, block, dout_rows, shape.value_dim, T{1}, is_first ? dv.beta : 1);
          }
          if (dk.data) {
            products.key_gradient(dk.data + start_of(dk.strides, batch, kv_head, block.first_key), dk.strides.row,
                                  dweights, block, q_rows, dim, scale, is_first ? dk.beta : 1);
          }
          if (dq.data) {
            const bool adds = first_key > 0;
            T* const dq_block = dq.data + start_of(dq.strides, batch, head, first);
            products.query_gradient(adds ? workspace.dq : dq_block, adds ? dim : dq.strides.row, dweights, block,
                                    adds ? 0 : dq.beta);
            ++blocks;
            if (adds) {
              order.wait(task - 1, blocks);
              for (std::int64_t row = 0; row < block.rows; ++row) {
                T* const to = dq_block + row * dq.strides.row;
                for (std::int64_t j = 0; j < dim; ++j) to[j] += workspace.dq[row * dim + j];
              }
            }
            under_way.finish_block();
          }
        }
      }
    });
  };
  with_products<T>(backward);
}

template void attention_forward(float*, AttentionStrides, float*, const float*, AttentionStrides, const float*,
                                AttentionStrides, const float*, AttentionStrides, const AttentionShape&);
template void attention_forward(double*, AttentionStrides, double*, const double*, AttentionStrides, const double*,
                                AttentionStrides, const double*, AttentionStrides, const AttentionShape&);
template void attention_backward(AttentionGradient<float>, AttentionGradient<float>, AttentionGradient<float>,
                                 const float*, AttentionStrides, const float*, AttentionStrides, const float*,
                                 const float*, AttentionStrides, const float*, AttentionStrides, const float*,
                                 AttentionStrides, const AttentionShape&);
template void attention_backward(AttentionGradient<double>, AttentionGradient<double>, AttentionGradient<double>,
                                 const double*, AttentionStrides, const double*, AttentionStrides, const double*,
                                 const double*, AttentionStrides, const double*, AttentionStrides, const double*,
                                 AttentionStrides, const AttentionShape&);

}  // namespace tapeformer::kernels
