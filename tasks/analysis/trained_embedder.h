// A trained model of any family as a function from texts to vectors, read from a run.
#pragma once

#include "tasks/common/load_run.h"

namespace tapeformer {

// A model of any family, as a function from a text to vectors of its tokens. An encoder-decoder's is its encoder.
struct TrainedEmbedder : TrainedModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Module> model;
  std::vector<std::int32_t> before, after;  // the marks around a text in a row: [CLS] and [SEP]
  std::optional<std::int64_t> context;      // the most tokens of a row, marks included; nothing: no limit
  // ids i32 (B, T) → the vectors of each layer (B, T, F), those of the embedding first.
  std::function<std::vector<Variable>(const Variable& ids)> hidden_states;
};

template <>
TrainedEmbedder load_run(const ModelSource& source, const LoadOptions& options);

}  // namespace tapeformer
