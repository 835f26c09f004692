// Rules across keys that several tasks have. Each throws UsageError.
#pragma once

#include "train/config/config.h"

namespace tapeformer {

template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail_usage(parts...);
}

// Rows are cut from one text: no parallel text, and no batches of so many tokens or by length.
void require_plain_text(const ResolvedConfig& config);
// The task masks no tokens: train.mask_rate and those beside it have their defaults.
void require_no_masks(const ResolvedConfig& config);
// Evaluation has windows that do not overlap.
void require_separate_windows(const ResolvedConfig& config);

}  // namespace tapeformer
