// What a model costs before it is trained: parameters, memory, floating point operations.
#pragma once

#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer::cli {

struct ModelCosts {
  struct Part {
    std::string key, label;  // of the JSON object, and for people
    std::int64_t parameters;
  };
  std::int64_t vocab = 0;  // of the target, where source and target differ
  std::vector<Part> parts;
  std::int64_t total = 0;
  std::int64_t tokens_per_step = 0;  // of the target
  // Forward and backward of training sequences of the whole context; an encoder-decoder's with as many source tokens. 6
  // for each parameter of a product, 12·dim·T a layer more for attention to T tokens, half of that where it is causal;
  // without attention where batches are by tokens, or attention keeps to documents.
  double flops_per_token = 0;
};

// Of a run or a configuration file, resolved. The vocabulary is read, or learned where that can be done: throws
// UsageError where it cannot.
ModelCosts costs_of_run(const Config& config, const std::string& folder);
ModelCosts costs_of_config(const Config& config);

}  // namespace tapeformer::cli
