// The plan of a training on conversations (TaskRow::plan).
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Plans a gpt that learns to answer, from scratch or on from other weights. All conversations are read. Throws
// UsageError for other families and Error as read_conversations() does.
Plan plan_instructions(const PlanRequest& request);

}  // namespace tapeformer
