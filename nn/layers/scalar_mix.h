// A learned weighted sum of the layers of a model, as AllenNLP's ScalarMix.
#pragma once

#include <span>

#include "nn/module/module.h"

namespace tapeformer {

// ELMo's vector of a token: γ Σ_j s_j h_j, s = softmax(w), over the vectors h_j of all layers (Peters et al. 2018,
// equation 1). weight (layers) is w, initially zero, so that all layers have the same weight. gamma (1) is initially
// one.
class ScalarMix : public Module {
 public:
  ScalarMix(std::int64_t layers, DType dtype);
  // Returns the mixture of the layers. There must be as many as the constructor was told, all of the same sizes (Error
  // otherwise).
  Variable forward(std::span<const Variable> layers) const;
  // Returns s, the normalised weight of each layer.
  std::vector<double> shares() const;

  Variable weight, gamma;
};

}  // namespace tapeformer
