// The matrix products of attention over the keys of one task, on the calling thread: BandProducts in the tensors' own
// type, Bf16Products with operands that are rounded to bf16. Both have the same members. They are private to
// attention.cpp and attention_backward.cpp.
#pragma once

#include <cstdint>

#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/attention/attention_rows.h"
#include "autograd/kernels/gemm/band_gemm.h"
#include "autograd/kernels/gemm/bf16/bf16_panels.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"

namespace tapeformer::kernels {

// Rows of a head, `distance` elements apart, their elements contiguous.
template <class T>
struct HeadRows {
  const T* data;
  std::int64_t distance;
};

// The mask of a block, in the form that its products take.
inline Band band_of(const ScoreBlock& block, Band::Kind kind) {
  return block.causal || block.first_seen ? Band{kind, block.first_visible, block.first_seen} : Band{};
}

template <class T>
class BandProducts {
 public:
  // Blocks begin at any key.
  static constexpr std::int64_t kKeyAlignment = 1;
  static constexpr bool kBatchInvariant = false;

  // ld: the distance between rows that are as wide as all keys of a head. `ahead` advances during the products, but for
  // those of few queries.
  BandProducts(const AttentionShape& shape, std::int64_t ld, bool backward, ReadAhead& ahead)
      : shape_(shape),
        ahead_(ahead),
        ld_(ld),
        keys_(shape.query_dim * ld),
        values_(backward ? shape.value_dim * ld : 0),
        backward_(backward) {}

  // Takes the keys and values that the next calls multiply with: `count` of the head's, from `first` on.
  void take(HeadRows<T> k, HeadRows<T> v, std::int64_t first, std::int64_t count) {
    k_ = {k.data + first * k.distance, k.distance}, v_ = {v.data + first * v.distance, v.distance}, first_ = first;
    transpose(keys_.data(), ld_, k_.data, k_.distance, count, shape_.query_dim);
    if (backward_) transpose(values_.data(), ld_, v_.data, v_.distance, count, shape_.value_dim);
  }

  // For few queries, where preparing the keys would take longer than the products: scores() and output() with the
  // head's first key and value, without take().
  bool takes_few_queries() const { return true; }
  void scores_of_few(T* scores, const ScoreBlock& block, HeadRows<T> q, HeadRows<T> k) const {
    skinny_gemm<T>(scores, block.ld, {q.data, q.distance}, {k.data + block.first_key * k.distance, k.distance, true},
                   block.rows, block.cols, shape_.query_dim, static_cast<T>(shape_.scale), 0);
  }
  void output_of_few(T* out, std::int64_t distance, const T* weights, const ScoreBlock& block, HeadRows<T> v) const {
    band_gemm<T>(out, distance, {weights, block.ld, 1}, v.data + block.first_key * v.distance, v.distance, block.rows,
                 shape_.value_dim, block.cols, 1, 0, band_of(block, Band::left));
  }

  // scores (rows, cols) = scale·Q Kᵀ
  void scores(T* scores, const ScoreBlock& block, HeadRows<T> q) const {
    band_gemm<T>(scores, block.ld, {q.data, q.distance, 1}, keys_.data() + skipped(block), ld_, block.rows, block.cols,
                 shape_.query_dim, static_cast<T>(shape_.scale), 0, band_of(block, Band::output), &ahead_);
  }
  // dweights (rows, cols) = dO Vᵀ
  void dweights(T* dweights, const ScoreBlock& block, HeadRows<T> dout) const {
    band_gemm<T>(dweights, block.ld, {dout.data, dout.distance, 1}, values_.data() + skipped(block), ld_, block.rows,
                 block.cols, shape_.value_dim, 1, 0, band_of(block, Band::output), &ahead_);
  }
  // out (rows, d_v), rows `distance` apart = weights (rows, cols)·V
  void output(T* out, std::int64_t distance, const T* weights, const ScoreBlock& block) const {
    band_gemm<T>(out, distance, {weights, block.ld, 1}, v_.data + skipped(block) * v_.distance, v_.distance, block.rows,
                 shape_.value_dim, block.cols, 1, 0, band_of(block, Band::left), &ahead_);
  }
  // dq (rows, d_k) = beta·dq + scale·dscores (rows, cols)·K
  void query_gradient(T* dq, std::int64_t distance, const T* dscores, const ScoreBlock& block, T beta) const {
    band_gemm<T>(dq, distance, {dscores, block.ld, 1}, k_.data + skipped(block) * k_.distance, k_.distance, block.rows,
                 shape_.query_dim, block.cols, static_cast<T>(shape_.scale), beta, band_of(block, Band::left), &ahead_);
  }
  // out (cols, width) = beta·out + alpha·weights (rows, cols)ᵀ·rows (rows, width)
  void key_gradient(T* out, std::int64_t distance, const T* weights, const ScoreBlock& block, HeadRows<T> rows,
                    std::int64_t width, T alpha, T beta) const {
    band_gemm<T>(out, distance, {weights, 1, block.ld}, rows.data, rows.distance, block.cols, width, block.rows, alpha,
                 beta, band_of(block, Band::left_transposed), &ahead_);
  }

 private:
  std::int64_t skipped(const ScoreBlock& block) const { return block.first_key - first_; }

  const AttentionShape& shape_;
  ReadAhead& ahead_;
  std::int64_t ld_;
  Scratch<T> keys_, values_;  // transposed: (d_k, keys), (d_v, keys)
  bool backward_;
  HeadRows<T> k_{}, v_{};
  std::int64_t first_ = 0;
};

class Bf16Products {
 public:
  // Where keys are summed over, blocks begin where a block of k of the unit begins: its depth divides this.
  static constexpr std::int64_t kKeyAlignment = 512;
  // take() and what follows it give a query the same bits for any number of queries. The products of few queries add up
  // in another order.
  static constexpr bool kBatchInvariant = true;

  Bf16Products(const AttentionShape& shape, std::int64_t, bool backward, ReadAhead& ahead, const Bf16Unit& unit,
               bool split)
      : shape_(shape),
        ahead_(ahead),
        unit_(unit),
        split_(split),
        backward_(backward),
        keys_(room(shape.keys, shape.query_dim)),
        values_(backward ? room(shape.keys, shape.value_dim) : 0),
        summed_(backward ? room(shape.query_dim, shape.keys) : room(shape.value_dim, shape.keys)),
        block_rows_(backward ? room(std::max(shape.query_dim, shape.value_dim), kBlockRows) : 0) {
    check(kKeyAlignment % unit.depth == 0, "attention: blocks of ", unit.depth, " keys of the unit ", unit.name,
          " do not fit ", kKeyAlignment);
    unit_.begin();
  }
  ~Bf16Products() { unit_.end(); }
  Bf16Products(const Bf16Products&) = delete;
  Bf16Products& operator=(const Bf16Products&) = delete;

  void take(HeadRows<float> k, HeadRows<float> v, std::int64_t first, std::int64_t count) {
    k.data += first * k.distance, v.data += first * v.distance, first_ = first, count_ = count;
    columns(keys_, count, shape_.query_dim).pack({k.data, k.distance, true});
    if (backward_) columns(values_, count, shape_.value_dim).pack({v.data, v.distance, true});
    const HeadRows<float>& summed = backward_ ? k : v;
    columns(summed_, summed_width(), count).pack({summed.data, summed.distance, false});
  }

  bool takes_few_queries() const { return unit_.round_and_multiply_few_rows && !split_; }
  void scores_of_few(float* scores, const ScoreBlock& block, HeadRows<float> q, HeadRows<float> k) const {
    few_rows(scores, block.ld, q, {k.data + block.first_key * k.distance, k.distance, true}, block.rows, block.cols,
             shape_.query_dim, static_cast<float>(shape_.scale));
  }
  void output_of_few(float* out, std::int64_t distance, const float* weights, const ScoreBlock& block,
                     HeadRows<float> v) const {
    few_rows(out, distance, {weights, block.ld}, {v.data + block.first_key * v.distance, v.distance, false}, block.rows,
             shape_.value_dim, block.cols, 1);
  }

  void scores(float* scores, const ScoreBlock& block, HeadRows<float> q) const {
    packed_gemm(scores, block.ld, {q.data, q.distance, true}, block.rows, columns(keys_, count_, shape_.query_dim),
                {skipped(block), block.cols, 0, shape_.query_dim}, static_cast<float>(shape_.scale), 0,
                band_of(block, Band::output), &ahead_);
  }
  void dweights(float* dweights, const ScoreBlock& block, HeadRows<float> dout) const {
    packed_gemm(dweights, block.ld, {dout.data, dout.distance, true}, block.rows,
                columns(values_, count_, shape_.value_dim), {skipped(block), block.cols, 0, shape_.value_dim}, 1, 0,
                band_of(block, Band::output), &ahead_);
  }
  void output(float* out, std::int64_t distance, const float* weights, const ScoreBlock& block) const {
    sum_over_keys(out, distance, weights, block, 1, 0);
  }
  void query_gradient(float* dq, std::int64_t distance, const float* dscores, const ScoreBlock& block,
                      float beta) const {
    sum_over_keys(dq, distance, dscores, block, static_cast<float>(shape_.scale), beta);
  }
  void key_gradient(float* out, std::int64_t distance, const float* weights, const ScoreBlock& block,
                    HeadRows<float> rows, std::int64_t width, float alpha, float beta) const {
    const PackedColumns packed = columns(block_rows_, width, block.rows);
    packed.pack({rows.data, rows.distance, false});
    packed_gemm(out, distance, {weights, block.ld, false}, block.cols, packed, {0, width, 0, block.rows}, alpha, beta,
                band_of(block, Band::left_transposed), &ahead_);
  }

 private:
  PanelLayout layout(std::int64_t n, std::int64_t k) const { return {unit_, Side::right, split_, n, k}; }
  std::int64_t room(std::int64_t n, std::int64_t k) const { return PackedColumns::room(layout(n, k)); }
  PackedColumns columns(const Scratch<Bf16>& memory, std::int64_t n, std::int64_t k) const {
    return {layout(n, k), memory.data()};
  }
  std::int64_t skipped(const ScoreBlock& block) const { return block.first_key - first_; }
  std::int64_t summed_width() const { return backward_ ? shape_.query_dim : shape_.value_dim; }

  void few_rows(float* c, std::int64_t ldc, HeadRows<float> a, const PackSource& b, std::int64_t m, std::int64_t n,
                std::int64_t k, float alpha) const {
    const std::int64_t distance = packed_depth(k);
    const Scratch<Bf16> rounded(m * distance);
    unit_.pack_rows(rounded.data(), nullptr, distance, {a.data, a.distance, true}, m, k);
    unit_.round_and_multiply_few_rows(c, ldc, rounded.data(), distance, b, m, n, k, alpha, 0);
  }

  void sum_over_keys(float* out, std::int64_t distance, const float* weights, const ScoreBlock& block, float alpha,
                     float beta) const {
    packed_gemm(out, distance, {weights, block.ld, true}, block.rows, columns(summed_, summed_width(), count_),
                {0, summed_width(), skipped(block), block.cols}, alpha, beta, band_of(block, Band::left), &ahead_);
  }

  const AttentionShape& shape_;
  ReadAhead& ahead_;
  const Bf16Unit& unit_;
  bool split_, backward_;
  Scratch<Bf16> keys_, values_;  // columns: the keys (d_k deep), the values (d_v deep)
  Scratch<Bf16> summed_;         // columns of what is summed over the keys: forward the values, backward the keys
  Scratch<Bf16> block_rows_;     // columns of the rows of one block
  std::int64_t first_ = 0, count_ = 0;
};

}  // namespace tapeformer::kernels
