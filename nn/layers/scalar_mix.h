// A learned mixture of the layers of a model.
#pragma once

#include <span>

#include "nn/module/module.h"

namespace tapeformer {

// ELMo's vector of a token: γ Σ_j s_j h_j, s = softmax(w), over the vectors h_j of all layers (Peters et al. 2018,
// equation 1). weight (layers) is w and begins at zero: all layers have the same share. gamma (1) begins at one.
class ScalarMix : public Module {
 public:
  ScalarMix(std::int64_t layers, DType dtype);
  // As many layers as the constructor was told, all of the same sizes (Error otherwise) → their mixture.
  Variable forward(std::span<const Variable> layers) const;
  // s: the share of each layer.
  std::vector<double> shares() const;

  Variable weight, gamma;
};

}  // namespace tapeformer
