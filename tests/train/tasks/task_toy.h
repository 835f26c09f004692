// What tests of fine-tuning on labels share.
#pragma once

#include <string_view>

#include "tests/train/toy.h"

namespace tapeformer {

// The value of a measure; -1 where the evaluation has none of that name.
inline double measure(const Evaluation& evaluation, std::string_view name) {
  for (const auto& [known, value] : evaluation.metrics) {
    if (known == name) return value;
  }
  return -1;
}

}  // namespace tapeformer
