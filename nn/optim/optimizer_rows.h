// The rows of the library's optimizers, private to this folder. Each is defined in the file of its name.
#pragma once

#include "nn/optim/optimizers.h"

namespace tapeformer {

OptimizerRow adamw_row();
OptimizerRow adam_row();
OptimizerRow sgd_row();
OptimizerRow muon_row();

}  // namespace tapeformer
