// What the tasks of attention's forward and backward share: their memory, and the blocks of queries that they go
// through. It is private to attention.cpp and attention_backward.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "autograd/kernels/attention/attention_products.h"
#include "autograd/kernels/attention/attention_rows.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/scratch.h"

namespace tapeformer::kernels {

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

inline std::int64_t start_of(const AttentionStrides& strides, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return batch * strides.batch + head * strides.head + row * strides.row;
}

// A tensor (B, heads, rows, width) that attention reads.
template <class T>
struct HeadsInput {
  const T* data;
  AttentionStrides strides;

  HeadRows<T> rows(std::int64_t batch, std::int64_t head, std::int64_t first) const {
    return {data + start_of(strides, batch, head, first), strides.row};
  }
  void add_to(ReadAhead& ahead, std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
              std::int64_t width) const {
    ahead.add(data + start_of(strides, batch, head, first), strides.row, count, width);
  }
};

// The keys begin to end − 1 of a head.
struct Keys {
  std::int64_t begin, end;
};
inline Keys keys_of(const ScoreBlock& block) { return {block.first_key, block.first_key + block.cols}; }

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
inline double product_flops(const AttentionShape& shape) {
  double seen = 1.0 * shape.batches * shape.queries * shape.keys / (shape.causal ? 2 : 1);
  for (std::int64_t i = 0; shape.key_begin && i < shape.batches * shape.queries; ++i) seen -= shape.key_begin[i];
  return 2 * seen * shape.heads * shape.query_dim;
}

// Part `number` of `count` parts of the keys.
inline Keys part_of(const Keys& keys, std::int64_t number, std::int64_t count) {
  const std::int64_t size = keys.end - keys.begin;
  return {keys.begin + number * size / count, keys.begin + (number + 1) * size / count};
}

// Calls f with what makes the products of a task: make(shape, ld, backward, ahead).
template <class T, class F>
void with_products(const F& f) {
  if constexpr (std::is_same_v<T, float>) {
    const MatmulPrecision precision = MatmulPrecisionScope::current();
    if (precision != MatmulPrecision::highest) {
      return f([&unit = bf16_unit(), split = precision == MatmulPrecision::high](
                   const AttentionShape& shape, std::int64_t ld, bool backward, ReadAhead& ahead) {
        return Bf16Products(shape, ld, backward, ahead, unit, split);
      });
    }
  }
  f([](const AttentionShape& shape, std::int64_t ld, bool backward, ReadAhead& ahead) {
    return BandProducts<T>(shape, ld, backward, ahead);
  });
}

}  // namespace tapeformer::kernels
