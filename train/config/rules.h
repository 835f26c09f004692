// Rules that a configuration must keep.
#pragma once

#include "core/error.h"

namespace tapeformer {

// Throws UsageError with the joined parts unless the condition holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail_usage(parts...);
}

}  // namespace tapeformer
