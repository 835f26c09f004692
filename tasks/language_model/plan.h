// The plan of a language model (TaskRow::plan).
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Plans a gpt with the blocks of tuning::kGptKeys (RMS norms, SwiGLU, rotary positions) on plain text. Throws
// UsageError for other families, and for a text that is too short.
Plan plan_language_model(const PlanRequest& request);

}  // namespace tapeformer
