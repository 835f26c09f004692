#include "autograd/kernels/attention.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "autograd/kernels/attention_rows.h"
#include "autograd/kernels/band_gemm.h"
#include "autograd/kernels/simd.h"
#include "autograd/kernels/skinny_gemm.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kBlockRows = 64;
constexpr std::int64_t kForwardBlocks = 4;  // that forward does in one go, with the keys transposed once
constexpr std::int64_t kManyHeads = 16;     // heads that leave no thread idle for long
constexpr std::int64_t kKeyRange = 512;     // of one backward task where there are fewer
constexpr std::size_t kCacheLine = 64;

// A thread's own memory for one block, kept from call to call; it only grows.
std::byte* thread_workspace(std::size_t bytes) {
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kCacheLine}); }
  };
  thread_local std::unique_ptr<std::byte, Free> memory;
  thread_local std::size_t capacity = 0;
  if (bytes > capacity) {
    memory.reset();
    memory.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kCacheLine})));
    capacity = bytes;
  }
  return memory.get();
}

// Hands out cache-line aligned arrays of a thread's workspace.
struct Arrays {
  std::size_t used = 0;
  std::byte* memory = nullptr;  // null: only counting

  template <class T>
  T* take(std::int64_t count) {
    const std::size_t begin = used;
    used += (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return memory ? reinterpret_cast<T*>(memory + begin) : nullptr;
  }
};

template <class T>
struct Workspace {
  std::int64_t ld;  // of the arrays that are as wide as the keys
  T *scores, *dweights, *row_values;
  T *keys, *values;  // (d_k, T_k), (d_v, T_k): transposed
  std::uint32_t* words;
  std::int32_t* first_seen;  // of a block's rows

  Workspace(const AttentionShape& shape, bool backward) {
    // A cache line more than a row needs, so that rows of 4096 bytes do not all compete for the same cache sets.
    constexpr std::int64_t kLine = kCacheLine / sizeof(T);
    ld = (shape.keys + kLine - 1) / kLine * kLine + kLine;
    Arrays arrays;
    place(arrays, shape, backward);
    arrays = {0, thread_workspace(arrays.used)};
    place(arrays, shape, backward);
  }

 private:
  void place(Arrays& arrays, const AttentionShape& shape, bool backward) {
    const std::int64_t rows = std::min(kBlockRows, shape.queries);
    scores = arrays.take<T>(rows * ld);
    dweights = backward ? arrays.take<T>(rows * ld) : nullptr;
    row_values = arrays.take<T>(rows);
    keys = arrays.take<T>(shape.query_dim * ld);
    values = backward ? arrays.take<T>(shape.value_dim * ld) : nullptr;
    words = shape.dropout > 0 ? arrays.take<std::uint32_t>(dropout_words_room(shape.keys)) : nullptr;
    first_seen = shape.key_begin ? arrays.take<std::int32_t>(rows) : nullptr;
  }
};

std::int64_t start_of(const AttentionStrides& strides, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return batch * strides.batch + head * strides.head + row * strides.row;
}

// The keys begin … end − 1 of a head.
struct Keys {
  std::int64_t begin, end;
};
Keys keys_of(const ScoreBlock& block) { return {block.first_key, block.first_key + block.cols}; }

// The block of queries first … of one head, over those of the given keys that at least one of them sees, and what lies
// between.
template <class T>
ScoreBlock score_block(const AttentionShape& shape, std::int64_t batch, std::int64_t head, std::int64_t first,
                       const Keys& keys, const Workspace<T>& workspace) {
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

// Floating point operations of one product of scores' size, in all heads, without what masks skip: half of it where it
// is causal, and the keys before each query's first one.
double product_flops(const AttentionShape& shape) {
  double seen = 1.0 * shape.batches * shape.queries * shape.keys / (shape.causal ? 2 : 1);
  for (std::int64_t i = 0; shape.key_begin && i < shape.batches * shape.queries; ++i) seen -= shape.key_begin[i];
  return 2 * seen * shape.heads * shape.query_dim;
}

// The mask of a block as its products see it.
Band band_of(const ScoreBlock& block, Band::Kind kind) {
  return block.causal || block.first_seen ? Band{kind, block.first_visible, block.first_seen} : Band{};
}

}  // namespace

template <class T>
void attention_forward(T* o, AttentionStrides o_strides, T* log_sum_exp, const T* q, AttentionStrides q_strides,
                       const T* k, AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                       const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "attention_forward", {.flops = product_flops(shape) * 2});
  const std::int64_t blocks = chunk_count(shape.queries, kBlockRows), groups = chunk_count(blocks, kForwardBlocks);
  parallel_for(0, shape.batches * shape.heads * groups, 1, [&](std::int64_t i, std::int64_t) {
    // The long causal blocks first: a thread that starts late then has little left to do.
    const std::int64_t group = groups - 1 - i % groups, end = std::min(blocks, (group + 1) * kForwardBlocks);
    const std::int64_t batch = i / groups / shape.heads, head = i / groups % shape.heads;
    const Workspace<T> workspace(shape, false);
    T* const scores = workspace.scores;
    const T* const v_head = v + start_of(v_strides, batch, head, 0);
    const T* const k_head = k + start_of(k_strides, batch, head, 0);
    const Keys all{0, shape.keys};
    // A few queries, as in generation, cost less than the transposed keys would.
    const bool few = skinny_gemm_takes<T>({}, {k_head, k_strides.row, true}, shape.queries);
    if (!few) {
      const std::int64_t begin =
          keys_of(score_block(shape, batch, head, group * kForwardBlocks * kBlockRows, all, workspace)).begin;
      const std::int64_t seen = keys_of(score_block(shape, batch, head, (end - 1) * kBlockRows, all, workspace)).end;
      transpose(workspace.keys + begin, workspace.ld, k_head + begin * k_strides.row, k_strides.row, seen - begin,
                shape.query_dim);
    }

    for (std::int64_t first = group * kForwardBlocks * kBlockRows; first < std::min(end * kBlockRows, shape.queries);
         first += kBlockRows) {
      const ScoreBlock block = score_block(shape, batch, head, first, all, workspace);
      T* const o_block = o + start_of(o_strides, batch, head, first);
      T* const lse_block = log_sum_exp + (batch * shape.heads + head) * shape.queries + first;
      const T* const q_block = q + start_of(q_strides, batch, head, first);
      const T scale = static_cast<T>(shape.scale);
      if (few) {
        skinny_gemm<T>(scores, block.ld, {q_block, q_strides.row},
                       {k_head + block.first_key * k_strides.row, k_strides.row, true}, block.rows, block.cols,
                       shape.query_dim, scale, 0);
      } else {
        band_gemm<T>(scores, block.ld, {q_block, q_strides.row, 1}, workspace.keys + block.first_key, workspace.ld,
                     block.rows, block.cols, shape.query_dim, scale, 0, band_of(block, Band::output));
      }
      softmax_rows(scores, lse_block, workspace.row_values, block);
      band_gemm<T>(o_block, o_strides.row, {scores, block.ld, 1}, v_head + block.first_key * v_strides.row,
                   v_strides.row, block.rows, shape.value_dim, block.cols, 1, 0, band_of(block, Band::left));
      scale_rows(o_block, o_strides.row, workspace.row_values, block.rows, shape.value_dim);
    }
  });
}

// A task is a range of the keys of one head: all keys where there are heads enough for all threads, else kKeyRange of
// them, so that few heads of long sequences occupy many threads. All query blocks of a task add to the same dK and dV.
// Beta is applied once: by the products of the last block, which goes first, for the keys that it sees (all that any
// sees, as a rule), and beforehand for the others; the other blocks add to what they find. dQ gets a part from each
// range; those behind the first lie apart until they are added up in order.
template <class T>
void attention_backward(AttentionGradient<T> dq, AttentionGradient<T> dk, AttentionGradient<T> dv, const T* dout,
                        AttentionStrides dout_strides, const T* o, AttentionStrides o_strides, const T* log_sum_exp,
                        const T* q, AttentionStrides q_strides, const T* k, AttentionStrides k_strides, const T* v,
                        AttentionStrides v_strides, const AttentionShape& shape) {
  const Span span(SpanKind::kernel, "attention_backward", {.flops = product_flops(shape) * 5});
  const T scale = static_cast<T>(shape.scale);
  const std::int64_t heads = shape.batches * shape.heads, dim = shape.query_dim;
  const std::int64_t range = heads >= kManyHeads ? std::max<std::int64_t>(shape.keys, 1) : kKeyRange;
  const std::int64_t ranges = std::max<std::int64_t>(1, chunk_count(shape.keys, range));
  const std::int64_t part_size = shape.queries * dim;
  T* const dq_parts = dq.data && ranges > 1 ? scratch<T>(heads * (ranges - 1) * part_size) : nullptr;

  parallel_for(0, heads * ranges, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t i = task / ranges, batch = i / shape.heads, head = i % shape.heads;
    const std::int64_t first_key = task % ranges * range;
    const Keys keys{first_key, std::min(first_key + range, shape.keys)};
    const Workspace<T> workspace(shape, true);
    T *const scores = workspace.scores, *const dweights = workspace.dweights;
    const std::int64_t last = (chunk_count(shape.queries, kBlockRows) - 1) * kBlockRows;
    const auto block_at = [&](std::int64_t first) { return score_block(shape, batch, head, first, keys, workspace); };
    const Keys seen = shape.queries > 0 ? keys_of(block_at(last)) : Keys{first_key, first_key};  // by the last block
    transpose(workspace.keys, workspace.ld, k + start_of(k_strides, batch, head, first_key), k_strides.row,
              seen.end - first_key, dim);
    transpose(workspace.values, workspace.ld, v + start_of(v_strides, batch, head, first_key), v_strides.row,
              seen.end - first_key, shape.value_dim);

    // Beta times what is there, as a product over nothing.
    const auto apply_beta = [&](const AttentionGradient<T>& gradient, std::int64_t width, const Keys& of) {
      if (!gradient.data) return;
      T* const start = gradient.data + start_of(gradient.strides, batch, head, of.begin);
      band_gemm<T>(start, gradient.strides.row, {start, 0, 0}, start, 0, of.end - of.begin, width, 0, 0, gradient.beta);
    };
    for (const Keys& of : {Keys{keys.begin, seen.begin}, Keys{seen.end, keys.end}}) {
      apply_beta(dk, dim, of);
      apply_beta(dv, shape.value_dim, of);
    }

    for (std::int64_t first = last; first >= 0; first -= kBlockRows) {
      const ScoreBlock block = block_at(first);
      const T* const q_block = q + start_of(q_strides, batch, head, first);
      const T* const dout_block = dout + start_of(dout_strides, batch, head, first);
      const std::int64_t skipped = block.first_key - first_key;

      dot_rows(workspace.row_values, dout_block, dout_strides.row, o + start_of(o_strides, batch, head, first),
               o_strides.row, block.rows, shape.value_dim);
      band_gemm<T>(scores, block.ld, {q_block, q_strides.row, 1}, workspace.keys + skipped, workspace.ld, block.rows,
                   block.cols, dim, scale, 0, band_of(block, Band::output));
      band_gemm<T>(dweights, block.ld, {dout_block, dout_strides.row, 1}, workspace.values + skipped, workspace.ld,
                   block.rows, block.cols, shape.value_dim, 1, 0, band_of(block, Band::output));
      gradient_rows(scores, dweights, log_sum_exp + i * shape.queries + first, workspace.row_values, block);

      const Band by_key = band_of(block, Band::left_transposed);
      if (dv.data) {
        band_gemm<T>(dv.data + start_of(dv.strides, batch, head, block.first_key), dv.strides.row,
                     {scores, 1, block.ld}, dout_block, dout_strides.row, block.cols, shape.value_dim, block.rows, 1,
                     first == last ? dv.beta : 1, by_key);
      }
      if (dk.data) {
        band_gemm<T>(dk.data + start_of(dk.strides, batch, head, block.first_key), dk.strides.row,
                     {dweights, 1, block.ld}, q_block, q_strides.row, block.cols, dim, block.rows, scale,
                     first == last ? dk.beta : 1, by_key);
      }
      if (dq.data) {
        const bool apart = first_key > 0;
        T* const place = apart ? dq_parts + (i * (ranges - 1) + task % ranges - 1) * part_size + first * dim
                               : dq.data + start_of(dq.strides, batch, head, first);
        band_gemm<T>(place, apart ? dim : dq.strides.row, {dweights, block.ld, 1},
                     k + start_of(k_strides, batch, head, block.first_key), k_strides.row, block.rows, dim, block.cols,
                     scale, apart ? 0 : dq.beta, band_of(block, Band::left));
      }
    }
  });

  if (dq_parts) {
    parallel_for(0, heads * shape.queries, kBlockRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t i = row / shape.queries, t = row % shape.queries;
        T* const to = dq.data + start_of(dq.strides, i / shape.heads, i % shape.heads, t);
        for (std::int64_t part = 0; part < ranges - 1; ++part) {
          const T* const from = dq_parts + (i * (ranges - 1) + part) * part_size + t * dim;
          for (std::int64_t j = 0; j < dim; ++j) to[j] += from[j];
        }
      }
    });
  }
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
