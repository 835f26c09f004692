// The row-by-row parts of attention between its matrix products, on the scores of one block of query rows. They are
// private to attention.cpp and attention_backward.cpp, and run on the calling thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/random.h"

namespace tapeformer::kernels {

inline constexpr std::int64_t kBlockRows = 64;  // queries of one block at most

// A block of scores (rows, cols), rows `ld` apart. Row r sees the keys hidden(r) to visible(r) − 1; the others
// are masked. Rows have room for whole cache lines.
struct ScoreBlock {
  std::int64_t rows, cols, ld;
  std::int64_t first_key;          // the key of column 0, counted in the head
  std::int64_t first_visible;      // the end of what row 0 sees; may be below 0 or above cols
  bool causal;                     // each row sees one key more than the row before
  const std::int32_t* first_seen;  // (rows), ascending, 0 to cols: the first key that each row sees; null: 0 for all

  // Dropout: a weight is kept where its word of the key's sequence is at least the threshold; row r begins at word
  // first_word + r·words_per_row.
  double dropout;
  RandomKey key;
  std::uint64_t first_word, words_per_row;
  std::uint32_t* words;  // room for one row: dropout_words_room(cols)

  std::int64_t visible(std::int64_t row) const {
    return std::clamp<std::int64_t>(causal ? first_visible + row : first_visible, 0, cols);
  }
  std::int64_t hidden(std::int64_t row) const {
    return first_seen ? std::min<std::int64_t>(first_seen[row], visible(row)) : 0;
  }
};

// The room that a row of `words` needs: a row can begin inside a Philox block, and whole vectors are drawn and read.
inline std::int64_t dropout_words_room(std::int64_t cols) { return cols + 64; }

// scores → e^(score − row's maximum), 0 where masked or dropped; log_sum_exp (rows) of the visible scores (−∞ if none);
// factor (rows): it turns these into weights, 1/(Σ e^(score − maximum)·(1 − p)), 0 if no key is visible.
template <class T>
void softmax_rows(T* scores, T* log_sum_exp, T* factor, const ScoreBlock& block);

// Multiplies row r of x (rows, cols), rows ld apart, by factor[r].
template <class T>
void scale_rows(T* x, std::int64_t ld, const T* factor, std::int64_t rows, std::int64_t cols);

// dots[r] = Σ_j a_rj·b_rj for a and b (rows, cols).
template <class T>
void dot_rows(T* dots, const T* a, std::int64_t a_ld, const T* b, std::int64_t b_ld, std::int64_t rows,
              std::int64_t cols);

// With P = e^(score − log_sum_exp) and M the dropout mask over (1 − p), both 0 where masked:
//   scores → P∘M;  dweights (placed as scores) → P∘(dweights∘M − dots)
template <class T>
void gradient_rows(T* scores, T* dweights, const T* log_sum_exp, const T* dots, const ScoreBlock& block);

}  // namespace tapeformer::kernels
