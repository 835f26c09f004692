// The update of Adam (Kingma & Ba 2015), one pass. Weight decay is decoupled (AdamW, Loshchilov & Hutter 2019) or, as
// in the classic form, an L2 term of the gradient.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "autograd/kernels/optim/decay_parts.h"
#include "autograd/kernels/optim/reduced_state.h"

namespace tapeformer::kernels {

struct AdamWStep {
  double lr, beta1, beta2, eps;
  double gradient_scale;  // a factor that is applied to the gradient first (clipping)
  std::int64_t step;      // counted from 1, for the bias correction
  bool l2 = false;        // weight_decay·w is added to the gradient; otherwise the decay is decoupled
};

// What corrects the bias of m and √v, which begin at 0: they are divided by 1 − β₁^step and √(1 − β₂^step).
struct BiasCorrection {
  explicit BiasCorrection(const AdamWStep& step)
      : mean(1 - std::pow(step.beta1, static_cast<double>(step.step))),
        root(std::sqrt(1 - std::pow(step.beta2, static_cast<double>(step.step)))) {}
  double mean, root;
};

//   g = gradient_scale·grad;  m = β₁m + (1 − β₁)g;  v = β₂v + (1 − β₂)g²
//   w = w − lr·weight_decay·w − lr·(m/(1 − β₁^step)) / (√(v/(1 − β₂^step)) + ε)
// for the elements of all parts, in one loop, where lr is the step's times the rate of the part. With l2: g =
// gradient_scale·grad + weight_decay·w, and w has no decay of its own.
template <class T>
void adamw(T* w, T* m, T* v, const T* grad, const AdamWStep& step, std::span<const DecayPart> parts);

// The same with m (which has a sign) and v (which has none) in fewer bits, for all ranges of the layout, each of
// which lies in one part: an update computes in f32 with what the state says, and rounds the new m and v.
void adamw(float* w, const ReducedState& m, const ReducedState& v, const float* grad, const AdamWStep& step,
           std::span<const DecayPart> parts, const StateLayout& layout);

}  // namespace tapeformer::kernels
