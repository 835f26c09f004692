// Plain loops over the gradients and changes that ranks send each other, as they are or rounded to bf16.
#pragma once

#include <cstdint>

#include "autograd/kernels/gemm/bf16/bf16.h"

namespace tapeformer::kernels {

// sums = Σ_r piece_r in the order of the ranks, whatever the number of threads: the piece of this rank is `mine`, and
// that of rank r is received[r · count …). Numbers of the type W (T or Bf16) are widened first. `mine` may be `sums`.
template <class T, class W>
void add_pieces(T* sums, const W* mine, const W* received, std::int64_t count, int rank, int ranks);

// rounded = values, rounded to bf16.
template <class T>
void round_all(Bf16* rounded, const T* values, std::int64_t count);

// rounded = values − before, rounded to bf16; then values = before.
template <class T>
void take_changes(Bf16* rounded, T* values, const T* before, std::int64_t count);

// values += changes.
template <class T>
void add_changes(T* values, const Bf16* changes, std::int64_t count);

}  // namespace tapeformer::kernels
