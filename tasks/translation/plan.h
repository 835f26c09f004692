// The plan of a translation model (TaskRow::plan).
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Plans a transformer on parallel text. Throws UsageError for other families.
Plan plan_translation(const PlanRequest& request);

}  // namespace tapeformer
