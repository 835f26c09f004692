// Rules across keys that several tasks share. Each function throws UsageError.
#pragma once

#include "train/config/config.h"
#include "train/config/rules.h"

namespace tapeformer {

// Requires that rows are cut from one text: no parallel text, and no batches by tokens or by length.
void require_plain_text(const ResolvedConfig& config);
// Requires the default values of train.mlm_probability and its companions, for a task that masks no tokens.
void require_no_masks(const ResolvedConfig& config);
// The rules of tasks that train word vectors: plain text, and neither softmax, masks nor overlapping windows.
void check_word_vectors(const ResolvedConfig& config);
// Requires evaluation windows that do not overlap.
void require_separate_windows(const ResolvedConfig& config);

}  // namespace tapeformer
