// A worked example (report/explain) as text for a terminal.
#pragma once

#include <string>

#include "report/explain/worked_example.h"

namespace tapeformer {

// Shows every tensor with its name and its shape. A matrix with many columns is cut after some of them, and a heat map
// of more than 16 columns is drawn with characters, from the smallest value (a space) to the largest (a full block).
// Curves become a table of some of their points.
std::string example_text(const explain::WorkedExample& example);

}  // namespace tapeformer
