// What simple models reach on the validation text of a causal language model.
#pragma once

#include "tasks/text/language_data.h"
#include "tasks/text/text_evaluation.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

// Evaluates an n-gram model of the training tokens on the targets that evaluate(model, validation tokens, options)
// scores. The n-gram model does not see beyond the beginning of a window either, nor of a document if the model keeps
// within documents. If all validation text is evaluated, `has_bytes`, and no token of it is unknown, xz compresses its
// text too.
//
// Each reads only as much text as it can in about half of the seconds on one core: the n-gram model learns from the
// beginning of the training text, xz reads its end and the beginning of the validation text, 64 MiB at most. The memory
// is bounded as well. Throws what `progress` throws.
Baselines text_baselines(const CausalModel& model, const LanguageData& data, const WindowOptions& options,
                         bool has_bytes, double seconds, const ProgressCallback& progress);

}  // namespace tapeformer
