// The update of Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019), in one pass.
#pragma once

#include <cstdint>
#include <span>

namespace tapeformer::kernels {

struct AdamWStep {
  double lr, beta1, beta2, eps;
  double gradient_scale;  // a factor that is applied to the gradient first (clipping)
  std::int64_t step;      // counted from 1, for the bias correction
};

// Consecutive elements with the same weight decay: from the end of the part before to `end`.
struct AdamWPart {
  std::int64_t end;
  double weight_decay;
};

//   g = gradient_scale·grad;  m = β₁m + (1 − β₁)g;  v = β₂v + (1 − β₂)g²
//   w = w − lr·weight_decay·w − lr·(m/(1 − β₁^step)) / (√(v/(1 − β₂^step)) + ε)
// for the elements of all parts, in one loop.
template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, std::span<const AdamWPart> parts);

}  // namespace tapeformer::kernels
