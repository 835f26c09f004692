// The command `score trees`, which compares a parser's trees with reference trees.
#pragma once

#include "cli/options/command.h"

namespace tapeformer::cli {

Command trees_command();

}  // namespace tapeformer::cli
