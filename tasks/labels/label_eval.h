#pragma once

#include "tasks/common/eval.h"

namespace tapeformer {

// Evaluates a model that is fine-tuned on labels; the report has a row for each label or kind of span
// (TaskRow::evaluate).
EvalReport evaluate_labels(const EvalRequest& request);

}  // namespace tapeformer
