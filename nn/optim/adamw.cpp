#include "nn/optim/adam.h"
#include "nn/optim/optimizer_rows.h"

namespace tapeformer {

OptimizerRow adamw_row() {
  return {.name = "adamw",
          .help = "Adam, with decoupled weight decay (Loshchilov & Hutter 2019)",
          .keys = adam_keys(0.1),
          .state_slabs = [](const KeyValues&, ParameterKind) { return 2; },
          .make = [](const ParameterSlab& slab, const KeyValues& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Adam>(slab, options, AdamDecay::decoupled);
          }};
}

}  // namespace tapeformer
