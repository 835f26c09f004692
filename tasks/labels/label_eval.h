#pragma once

#include "tasks/common/eval.h"

namespace tapeformer {

// The scores of a model that is fine-tuned on labels, with a row for each label or kind of spans (TaskRow::evaluate).
EvalReport evaluate_labels(const EvalRequest& request);

}  // namespace tapeformer
