// Stochastic gradient descent with momentum (Polyak 1964; Sutskever et al. 2013), in PyTorch's form, one pass.
#pragma once

#include <cstdint>
#include <span>

#include "autograd/kernels/optim/decay_parts.h"
#include "autograd/kernels/optim/reduced_state.h"

namespace tapeformer::kernels {

struct SgdStep {
  double lr, momentum;
  bool nesterov;
  double gradient_scale;  // the gradient is multiplied by it first (clipping)
};

//   g = gradient_scale·grad + weight_decay·w;  v = momentum·v + g
//   w = w − lr·v, or with nesterov w = w − lr·(g + momentum·v)
// for the elements of all parts, in one loop. With momentum 0 (w = w − lr·g) v is not used and may be null.
template <class T>
void sgd(T* w, T* v, const T* grad, const SgdStep& step, std::span<const DecayPart> parts);

// The same with v, which has a sign, in fewer bits, for all ranges of the layout, each of which lies in one part.
// The momentum is above 0.
void sgd(float* w, const ReducedState& v, const float* grad, const SgdStep& step, std::span<const DecayPart> parts,
         const StateLayout& layout);

}  // namespace tapeformer::kernels
