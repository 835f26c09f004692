// A worked example (report/explain) as text for a terminal.
#pragma once

#include <string>

#include "report/explain/worked_example.h"

namespace tapeformer {

// Every tensor with its name and its shape. A matrix with many columns is cut after some of them, and a heat map of
// more than 16 columns is drawn by characters, from the smallest value (a space) to the largest (a full block). Of
// curves there are some points, in a table.
std::string example_text(const explain::WorkedExample& example);

}  // namespace tapeformer
