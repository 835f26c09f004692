// What simple models reach on the validation text of a causal language model.
#pragma once

#include "tasks/text/language_data.h"
#include "tasks/text/text_evaluation.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

// Evaluates an n-gram model of the training tokens on the targets that evaluate(model, validation tokens, options)
// scores. The n-gram model does not see beyond the beginning of a window either, nor of a document if the model keeps
// within documents. If all validation text is evaluated and `has_bytes`, xz compresses its text too.
//
// Both read only so much of the text that they take about half of the seconds each on one core; n-grams the beginning
// of the training text, xz its end, and at most 64 MiB. The memory is bounded as well. Throws what `progress` throws.
Baselines text_baselines(const CausalModel& model, const LanguageData& data, const WindowOptions& options,
                         bool has_bytes, double seconds, const ProgressCallback& progress);

}  // namespace tapeformer
