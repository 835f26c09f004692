#pragma once

#include <string_view>

#include "train/config/config.h"

namespace tapeformer {

// What the loss of a training is in: Objective::loss_unit(), known without its data. Losses of different units do not
// compare.
std::string_view loss_unit(const ResolvedConfig& config);

}  // namespace tapeformer
