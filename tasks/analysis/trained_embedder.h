// A trained model of any family that gives tokens vectors, loaded from a run.
#pragma once

#include "tasks/analysis/encoded_words.h"
#include "tasks/common/load_run.h"

namespace tapeformer {

// For an encoder-decoder, only the encoder reads the text. The prefix ends with text_prefix().
struct TrainedEmbedder : TrainedModel, RowFrame {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
};

template <>
TrainedEmbedder load_run(const RunSelection& source, const LoadOptions& options);

}  // namespace tapeformer
