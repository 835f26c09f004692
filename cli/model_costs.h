// What a model costs before it is trained: parameters, memory, floating point operations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer::cli {

struct ModelCosts {
  struct Part {
    std::string key, label;  // the key of the JSON object; what people read
    std::int64_t parameters;
  };
  std::int64_t vocab = 0;  // of the target, where source and target differ
  std::vector<Part> parts;
  std::int64_t total = 0;
  // The parameters without those of pre-training alone (ModelPart::only_pretraining); nothing where there are none.
  std::optional<std::int64_t> without_heads = std::nullopt;
  std::int64_t tokens_per_step = 0;  // of the target
  // Forward and backward of training sequences of the whole context; for an encoder-decoder with as many source tokens.
  // Attention is left out where the length of its rows is not known: batches by tokens, and documents.
  double flops_per_token = 0;
};

// Costs of a run or of a configuration file, resolved. No memory is taken for the model, whatever its size. The
// vocabulary is read, or learned where that can be done: throws UsageError where it cannot.
ModelCosts costs_of_run(const ResolvedConfig& config, const std::string& folder);
ModelCosts costs_of_config(const ResolvedConfig& config);

}  // namespace tapeformer::cli
