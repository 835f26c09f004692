// The command `score trees`, which compares trees with given ones.
#pragma once

#include "cli/options/command.h"

namespace tapeformer::cli {

Command trees_command();

}  // namespace tapeformer::cli
