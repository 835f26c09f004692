// What a model is made of and what a step of it computes, known before it is trained.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/loop/objective_data.h"

namespace tapeformer::cli {

struct ModelCosts {
  struct Part {
    std::string key, label;  // the key of the JSON object; what people read
    std::int64_t parameters = 0;
  };
  struct Layer {
    std::string name;  // what the names of its parameters begin with: "blocks.0"
    std::int64_t parameters = 0;
    std::vector<Part> parts = {};  // its modules: "attention.q", "feed_forward.up"
  };
  std::int64_t vocab = 0;  // of the target, where source and target differ
  std::vector<Part> parts;
  std::vector<Layer> layers;
  std::int64_t total = 0;
  std::int64_t optimizer_numbers = 0;  // the state that the optimizer keeps of those that learn
  std::int64_t learning = 0;  // the parameters that have a gradient: fewer than all where fine-tuning leaves some alone
  // The parameters without those of pre-training alone (ModelPart::only_pretraining); nothing where there are none.
  std::optional<std::int64_t> without_heads = std::nullopt;
  std::int64_t tokens_per_step = 0;  // of the target; of a fine-tuning those that are read, about
  // Forward and backward of training sequences of the whole context; for an encoder-decoder with as many source tokens;
  // of a fine-tuning, of examples of the mean length.
  // Attention is left out where the length of its rows is not known: batches by tokens, and documents.
  double flops_per_token = 0;
};

// The costs of the model that the configuration trains on this data: with a task's classifier, where it has a task. No
// memory is taken for the model, whatever its size.
ModelCosts model_costs(const ResolvedConfig& config, const ObjectiveData& data);

}  // namespace tapeformer::cli
