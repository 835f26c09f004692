// A trained model of any family as a function from texts to vectors, loaded from a run.
#pragma once

#include "tasks/common/load_run.h"

namespace tapeformer {

// A model of any family as a function from a text to the vectors of its tokens; of an encoder-decoder, only the
// encoder.
struct TrainedEmbedder : TrainedModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Module> model;
  std::vector<std::int32_t> before, after;  // the special tokens around a text in a row: [CLS] and [SEP]
  std::optional<std::int64_t> context;      // the most tokens of a row, with the special tokens; nullopt: no limit
  // Maps ids i32 (B, T) to the vectors of each layer (B, T, F); the embedding comes first.
  std::function<std::vector<Variable>(const Variable& ids)> hidden_states;
};

template <>
TrainedEmbedder load_run(const ModelSource& source, const LoadOptions& options);

}  // namespace tapeformer
