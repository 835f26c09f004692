// The plan of a model that learns labels (TaskRow::plan).
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Plans fine-tuning if train.init_from is given, and then keeps the size of that model; else plans an encoder that
// learns from scratch.
Plan plan_labels(const PlanRequest& request);

}  // namespace tapeformer
