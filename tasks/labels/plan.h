// The plan of a model that learns labels (TaskRow::plan).
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Plans fine-tuning with train.init_from, where the size is that of the weights; else an encoder that learns from
// scratch.
Plan plan_labels(const PlanRequest& request);

}  // namespace tapeformer
