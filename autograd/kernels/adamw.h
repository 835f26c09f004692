// The update of Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019), one pass.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

struct AdamWStep {
  double lr, beta1, beta2, eps, weight_decay;
  double gradient_scale;  // the gradient is multiplied by it first (clipping)
  std::int64_t step;      // counted from 1, for the bias correction
};

//   g = gradient_scale·grad;  m = β₁m + (1 − β₁)g;  v = β₂v + (1 − β₂)g²
//   w = w − lr·weight_decay·w − lr·(m/(1 − β₁^step)) / (√(v/(1 − β₂^step)) + ε)
template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, std::int64_t n);

}  // namespace tapeformer::kernels
