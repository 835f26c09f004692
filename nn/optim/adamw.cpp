#include "nn/optim/adam.h"
#include "nn/optim/optimizer_rows.h"

namespace tapeformer {

OptimizerRow adamw_row() {
  return {.name = "adamw",
          .help = "Adam, with decoupled weight decay (Loshchilov & Hutter 2019)",
          .options = {"beta1", "beta2", "eps", "weight_decay"},
          .defaults = {.weight_decay = 0.1},
          .state_slabs = [](const OptimizerOptions&) { return 2; },
          .make = [](const ParameterSlab& slab, const OptimizerOptions& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Adam>(slab, options, AdamDecay::decoupled);
          }};
}

}  // namespace tapeformer
