#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/attention/attention_task.h"
#include "autograd/kernels/gemm/band_gemm.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kManyHeads = 16;  // this many heads give every thread enough tasks
constexpr std::int64_t kKeyRange = 512;  // keys of one backward task where there are fewer heads

// Makes the ranges of keys of one head add to dQ in their order, whichever threads work on them: a range waits until
// the one before it has added to the same block of queries. So dQ has the same bits for any number of threads, and no
// range needs memory for more than one block. The tasks begin in order, so whoever waits, waits for a task that has
// begun.
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

template <class T>
struct BackwardTensors {
  AttentionGradient<T> dq, dk, dv;
  HeadsInput<T> dout, o, q, k, v;
  const T* log_sum_exp;
};

// A range of the keys of one head of K and V, and one block of queries after the other that attends to them.
template <class T, class Products>
struct BackwardTask {
  const AttentionShape& shape;
  const BackwardTensors<T>& tensors;
  const Workspace<T>& workspace;
  Products& products;
  ReadAhead& ahead;
  std::int64_t batch, kv_head;
  Keys keys;
  const BackwardTask* next;  // the thread's next one, or another thread's at its end; null: unknown, or there is none

  struct Block : ScoreBlock {
    std::int64_t head, first;  // first: the block's first query
    bool is_first;             // whether it is the first one of the task
  };

  std::int64_t last_block() const { return (chunk_count(shape.queries, kBlockRows) - 1) * kBlockRows; }
  std::int64_t first_head() const { return kv_head * shape.group; }
  Block block_at(std::int64_t head, std::int64_t first) const {
    return {score_block(shape, batch, head, first, keys, Products::kKeyAlignment, workspace), head, first,
            first == last_block() && head == first_head()};
  }

  // The keys that any block sees, which are those of the last block of every head.
  Keys seen_keys() const {
    return shape.queries > 0 ? keys_of(block_at(first_head(), last_block())) : Keys{keys.begin, keys.begin};
  }

  // Takes the keys that any block sees, and multiplies the gradients of the others by beta.
  void take_keys() const {
    const Keys seen = seen_keys();
    products.take(tensors.k.rows(batch, kv_head, 0), tensors.v.rows(batch, kv_head, 0), keys.begin,
                  seen.end - keys.begin);
    for (const Keys& of : {Keys{keys.begin, seen.begin}, Keys{seen.end, keys.end}}) {
      apply_beta(tensors.dk, shape.query_dim, of);
      apply_beta(tensors.dv, shape.value_dim, of);
    }
  }
  // Multiplies by beta, as a product with an inner size of 0.
  void apply_beta(const AttentionGradient<T>& gradient, std::int64_t width, const Keys& of) const {
    if (!gradient.data) return;
    T* const start = gradient.data + start_of(gradient.strides, batch, kv_head, of.begin);
    band_gemm<T>(start, gradient.strides.row, {start, 0, 0}, start, 0, of.end - of.begin, width, 0, 0, gradient.beta);
  }

  void read_ahead_queries(std::int64_t head, std::int64_t first) const {
    const std::int64_t rows = std::min(kBlockRows, shape.queries - first);
    tensors.o.add_to(ahead, batch, head, first, rows, shape.value_dim);
    tensors.dout.add_to(ahead, batch, head, first, rows, shape.value_dim);
    tensors.q.add_to(ahead, batch, head, first, rows, shape.query_dim);
  }
  // What the thread reads next, during the block of `head` that begins at query `first`: the queries of the next block,
  // and a part of the keys and values of the next task.
  void read_ahead(std::int64_t head, std::int64_t first) const {
    ahead.clear();
    if (first > 0) {
      read_ahead_queries(head, first - kBlockRows);
    } else if (head + 1 < first_head() + shape.group) {
      read_ahead_queries(head + 1, last_block());
    } else if (next) {
      next->read_ahead_queries(next->first_head(), last_block());
    }
    if (!next) return;
    const std::int64_t blocks = chunk_count(shape.queries, kBlockRows);
    const std::int64_t done = (head - first_head() + 1) * blocks - 1 - first / kBlockRows;
    const Keys part = part_of(next->seen_keys(), done, shape.group * blocks);
    tensors.k.add_to(ahead, next->batch, next->kv_head, part.begin, part.end - part.begin, shape.query_dim);
    tensors.v.add_to(ahead, next->batch, next->kv_head, part.begin, part.end - part.begin, shape.value_dim);
  }

  // Writes the weights of the block, after dropout, to workspace.scores, and the gradients of its scores to
  // workspace.dweights.
  void compute_weights(const Block& block) const {
    const HeadRows<T> dout = tensors.dout.rows(batch, block.head, block.first);
    const HeadRows<T> o = tensors.o.rows(batch, block.head, block.first);
    dot_rows(workspace.row_values, dout.data, dout.distance, o.data, o.distance, block.rows, shape.value_dim);
    products.scores(workspace.scores, block, tensors.q.rows(batch, block.head, block.first));
    products.dweights(workspace.dweights, block, dout);
    gradient_rows(workspace.scores, workspace.dweights,
                  tensors.log_sum_exp + (batch * shape.heads + block.head) * shape.queries + block.first,
                  workspace.row_values, block);
  }

  void add_key_gradients(const Block& block) const {
    const auto add = [&](const AttentionGradient<T>& gradient, const T* weights, const HeadsInput<T>& input,
                         std::int64_t width, T alpha) {
      if (!gradient.data) return;
      products.key_gradient(gradient.data + start_of(gradient.strides, batch, kv_head, block.first_key),
                            gradient.strides.row, weights, block, input.rows(batch, block.head, block.first), width,
                            alpha, block.is_first ? gradient.beta : 1);
    };
    add(tensors.dv, workspace.scores, tensors.dout, shape.value_dim, T{1});
    add(tensors.dk, workspace.dweights, tensors.q, shape.query_dim, static_cast<T>(shape.scale));
  }

  // Calls wait() before it adds to what the ranges of keys before this one wrote.
  void add_query_gradient(const Block& block, const auto& wait) const {
    const AttentionGradient<T>& dq = tensors.dq;
    T* const dq_block = dq.data + start_of(dq.strides, batch, block.head, block.first);
    if (keys.begin == 0) {
      products.query_gradient(dq_block, dq.strides.row, workspace.dweights, block, dq.beta);
      return;
    }
    const std::int64_t dim = shape.query_dim;
    products.query_gradient(workspace.dq, dim, workspace.dweights, block, 0);
    wait();
    for (std::int64_t row = 0; row < block.rows; ++row) {
      T* const to = dq_block + row * dq.strides.row;
      for (std::int64_t j = 0; j < dim; ++j) to[j] += workspace.dq[row * dim + j];
    }
  }
};

}  // namespace

// A task is a range of the keys of one head of K and V: all keys where there are enough heads for all threads, else
// kKeyRange of them, so that few heads of long sequences occupy many threads. The first ranges of all heads come before
// the second ones, so that a range seldom has to wait for the one before it. Each task goes through all query heads of
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
  const BackwardTensors<T> tensors{.dq = dq,
                                   .dk = dk,
                                   .dv = dv,
                                   .dout = {dout, dout_strides},
                                   .o = {o, o_strides},
                                   .q = {q, q_strides},
                                   .k = {k, k_strides},
                                   .v = {v, v_strides},
                                   .log_sum_exp = log_sum_exp};
  const std::int64_t kv_heads = shape.kv_heads(), heads = shape.batches * kv_heads;
  const std::int64_t range = heads >= kManyHeads ? std::max<std::int64_t>(shape.keys, 1) : kKeyRange;
  const std::int64_t ranges = std::max<std::int64_t>(1, chunk_count(shape.keys, range));
  RangeOrder order(heads * ranges);

  const auto backward = [&](const auto& make_products) {
    const auto run_task = [&](std::int64_t number) {
      RangeOrder::Task under_way(order, number);
      const Workspace<T> workspace(shape, true);
      ReadAhead ahead;
      auto products = make_products(shape, workspace.ld, true, ahead);
      using Task = BackwardTask<T, decltype(products)>;
      const auto task_at = [&](std::int64_t at, const Task* next) {
        const std::int64_t head = at % heads, first_key = at / heads * range;
        return Task{.shape = shape,
                    .tensors = tensors,
                    .workspace = workspace,
                    .products = products,
                    .ahead = ahead,
                    .batch = head / kv_heads,
                    .kv_head = head % kv_heads,
                    .keys = {first_key, std::min(first_key + range, shape.keys)},
                    .next = next};
      };
      const Task next = task_at(number + 1, nullptr);
      const Task task = task_at(number, ranges == 1 && number + 1 < heads ? &next : nullptr);
      task.take_keys();
      int blocks = 0;
      for (std::int64_t head = task.first_head(); head < task.first_head() + shape.group; ++head) {
        for (std::int64_t first = task.last_block(); first >= 0; first -= kBlockRows) {
          task.read_ahead(head, first);
          const auto block = task.block_at(head, first);
          task.compute_weights(block);
          task.add_key_gradients(block);
          if (!dq.data) continue;
          ++blocks;
          task.add_query_gradient(block, [&] { order.wait(number - heads, blocks); });
          under_way.finish_block();
        }
      }
    };
    if (ranges > 1) return parallel_in_order(heads * ranges, run_task);
    parallel_for(0, heads, 1, [&](std::int64_t head, std::int64_t) { run_task(head); });
  };
  with_products<T>(backward);
}

template void attention_backward(AttentionGradient<float>, AttentionGradient<float>, AttentionGradient<float>,
                                 const float*, AttentionStrides, const float*, AttentionStrides, const float*,
                                 const float*, AttentionStrides, const float*, AttentionStrides, const float*,
                                 AttentionStrides, const AttentionShape&);
template void attention_backward(AttentionGradient<double>, AttentionGradient<double>, AttentionGradient<double>,
                                 const double*, AttentionStrides, const double*, AttentionStrides, const double*,
                                 const double*, AttentionStrides, const double*, AttentionStrides, const double*,
                                 AttentionStrides, const AttentionShape&);

}  // namespace tapeformer::kernels
