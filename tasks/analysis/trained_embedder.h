// A trained model of any family that gives tokens vectors, loaded from a run.
#pragma once

#include "tasks/common/load_run.h"

namespace tapeformer {

// A model and what it reads around a text; of an encoder-decoder, only the encoder reads it.
struct TrainedEmbedder : TrainedModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
  std::vector<std::int32_t> before, after;  // the special tokens around a text in a row: [CLS] and [SEP]
  std::optional<std::int64_t> context;      // the most tokens of a row, with the special tokens; nullopt: no limit
};

template <>
TrainedEmbedder load_run(const ModelSource& source, const LoadOptions& options);

}  // namespace tapeformer
