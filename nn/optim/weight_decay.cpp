#include "nn/optim/weight_decay.h"

namespace tapeformer {

std::vector<kernels::DecayPart> decay_matrices(const ParameterSlab& slab, double weight_decay) {
  std::vector<kernels::DecayPart> parts;
  for (const ParameterSlab::Part& part : slab.parts()) {
    const double decay = part.matrix ? weight_decay : 0;
    if (parts.empty() || parts.back().weight_decay != decay || parts.back().rate != part.rate) {
      parts.push_back({0, decay, part.rate});
    }
    parts.back().end = part.begin + part.size;
  }
  return parts;
}

}  // namespace tapeformer
