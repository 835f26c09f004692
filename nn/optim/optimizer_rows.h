// Private to this folder: the rows of the optimizers that come with the library. Each stands in a file of its name.
#pragma once

#include "nn/optim/optimizers.h"

namespace tapeformer {

OptimizerRow adamw_row();
OptimizerRow adam_row();
OptimizerRow sgd_row();
OptimizerRow muon_row();

}  // namespace tapeformer
