// A trained model of any family that gives tokens vectors, loaded from a run.
#pragma once

#include "tasks/common/load_run.h"

namespace tapeformer {

// The special tokens around a text in a row of a model, and the limit of the row.
struct RowFrame {
  std::vector<std::int32_t> prefix, suffix;  // the special tokens before and after the text: [CLS] and [SEP]
  std::optional<std::int64_t> context;  // the largest number of tokens in a row, special ones too; nullopt: no limit
};
// Returns the frame for a model of plain text, which is not an encoder-decoder.
RowFrame row_frame(const Model& model, const Tokenizer& tokenizer);

// For an encoder-decoder, only the encoder reads the text.
struct TrainedEmbedder : TrainedModel, RowFrame {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
};

template <>
TrainedEmbedder load_run(const ModelSource& source, const LoadOptions& options);

}  // namespace tapeformer
