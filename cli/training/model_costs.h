// The parameters of a model and the operations of a step, computed without training.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/loop/objective_data.h"

namespace tapeformer::cli {

struct ModelCosts {
  struct Part {
    std::string key, label;  // the key in the JSON object; the name for people
    std::int64_t parameters = 0;
  };
  struct Layer {
    std::string name;  // the prefix of its parameters' names: "blocks.0"
    std::int64_t parameters = 0;
    std::vector<Part> parts = {};  // its modules: "attention.q", "feed_forward.up"
  };
  std::int64_t vocab = 0;  // the vocabulary size (of the target, if source and target differ)
  std::vector<Part> parts;
  std::vector<Layer> layers;
  std::int64_t total = 0;
  std::int64_t non_embedding = 0, matrices = 0;  // as in ParameterCounts
  std::int64_t optimizer_bytes = 0;              // the optimizer's state for the trainable parameters
  std::int64_t learning = 0;  // the number of trainable parameters: not all, if fine-tuning freezes some
  // The parameters without those that only pre-training uses (ModelPart::only_pretraining); nullopt if there are none.
  std::optional<std::int64_t> without_heads = std::nullopt;
  // Target tokens, with padding in batches by tokens; in fine-tuning, about the number of tokens that are read.
  std::int64_t tokens_per_step = 0;
  // Operations of forward and backward for each token, in training sequences of the whole context; an encoder-decoder
  // is assumed to read equally many source tokens; sentences, captions and examples have their mean length. Attention
  // is left out where it reaches to the beginning of a document, whose length is unknown.
  double flops_per_token = 0;

  std::int64_t weight_bytes() const { return 4 * total; }
  std::int64_t gradient_bytes() const { return 4 * learning; }
};

// The costs of the model that the configuration trains on this data, including the task's classifier, if there is one.
// No memory is allocated for the model, whatever its size.
ModelCosts model_costs(const ResolvedConfig& config, const ObjectiveData& data);

// Groups of consecutive layers with equally many parameters: the first and the last layer of each group.
using LayerGroup = std::pair<const ModelCosts::Layer*, const ModelCosts::Layer*>;
std::vector<LayerGroup> equal_layers(const ModelCosts& costs);

}  // namespace tapeformer::cli
