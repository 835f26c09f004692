// Copies between layouts, and sums into smaller ones.
#pragma once

#include "autograd/tensor/layout.h"

namespace tapeformer {

// out (contiguous, in.numel() elements) = the elements of in, in row-major order. T is any dtype's.
// `in` points to the start of the storage; the layout's offset counts from there. Large copies run in parallel. Where
// the innermost axes are dense, whole runs are copied at once; transposes go by tiles.
template <class T>
void copy_to_contiguous(T* out, const T* in, const Layout& layout);

// Adds contiguous x (layout.numel() elements) into a strided, injective view: out = beta·out + x.
template <class T>
void accumulate_strided(T* out, const Layout& layout, const T* x, T beta);

}  // namespace tapeformer
