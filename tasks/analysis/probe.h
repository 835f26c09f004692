// A probe: it measures how well a simple classifier can read a word's label from a trained model's vectors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/progress.h"
#include "data/labels/labelled_text.h"
#include "nn/interfaces/model.h"
#include "tasks/analysis/encoded_words.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct ProbeOptions {
  // The only layer that is read (0 is the embedding); nullopt: all layers.
  std::optional<std::int64_t> layer = std::nullopt;
  std::int64_t steps = 2000;  // of AdamW with a cosine schedule
  std::int64_t batch = 64;    // words in a step
  double lr = 1e-2;
  std::uint64_t seed = 1;
};

struct ProbeResult {
  std::vector<std::string> labels;
  std::int64_t train_words = 0, valid_words = 0;  // words with a label
  std::int64_t unknown_labels = 0;                // validation words whose label no training word has: all are wrong
  std::int64_t tokens = 0, unknown_tokens = 0;    // of all sentences; the unknown ones have the vector of <unk>
  double accuracy = 0;                            // the share of validation words whose label is found
  double majority = 0;         // the accuracy of always predicting the most frequent label of the training words
  std::vector<double> shares;  // the weights of the layers in the mixture; their sum is 1
  double gamma = 0;            // the factor that the mixture is multiplied by
};

// Trains a logistic regression, softmax(W x + b), on the labelled words of `train` and scores it on the labelled words
// of `valid`. The model is frozen; x is a mixture of its layers (ScalarMix), which is learned too. The model reads a
// sentence as its words with a space between them, and the tokens of the frame around it; a word's vector is the
// mean of its tokens' vectors; if the space before a word is a token of its own, it does not count. Throws Error for a
// sentence that is longer than the model's context, and UsageError for a layer that the model does not have, or for a
// mixture of layers of different widths.
ProbeResult probe(const Model& model, const Tokenizer& tokenizer, const RowFrame& frame, const LabelledText& train,
                  const LabelledText& valid, const ProbeOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace tapeformer
