#include "nn/optim/weight_decay.h"

namespace tapeformer {

Key weight_decay_key(double default_decay) {
  return {.name = "weight_decay",
          .default_value = -1.0,
          .help = "decay of matrices",
          .allowed = or_minus_one(at_least(0)),
          .follows = "optimizer.name",
          .stands_for = default_decay};
}

std::vector<kernels::DecayPart> decay_matrices(const ParameterSlab& slab, double weight_decay) {
  std::vector<kernels::DecayPart> parts;
  for (const ParameterSlab::Part& part : slab.parts()) {
    const double decay = part.role.kind == ParameterKind::vector ? 0 : weight_decay;
    if (parts.empty() || parts.back().weight_decay != decay || parts.back().rate != part.rate) {
      parts.push_back({0, decay, part.rate});
    }
    parts.back().end = part.begin + part.size;
  }
  return parts;
}

}  // namespace tapeformer
