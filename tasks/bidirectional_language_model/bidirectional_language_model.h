// Bidirectional language modelling (Peters et al. 2018): a model learns to predict each token from the tokens before
// it, and from the tokens after it.
#pragma once

#include <array>
#include <string_view>

#include "nn/interfaces/model_with_heads.h"
#include "nn/layers/lm_head.h"
#include "train/config/config.h"

namespace tapeformer {

struct BidirectionalHeadConfig {
  std::int64_t dim = 0;         // half of the width of the model's features
  bool tie_embeddings = false;  // whether the head's matrix is the token embedding, which must be `dim` wide then
  Init init;
};

// The two directions share one head. In a row x_0 … x_T, the forward direction predicts x_{k+1} at x_k: T targets, x_1
// … x_T. The backward direction predicts x_{k−1} at x_k: T targets, x_0 … x_{T−1}. The loss is the mean over all 2·T
// targets, −1/(2T) Σ [ln P(x_k | x_0 … x_{k−1}) + ln P(x_k | x_{k+1} … x_T)].
class BidirectionalLanguageModel : public ModelWithHeads {
 public:
  // The first half of the model's features at a position must depend only on the tokens up to there, the second half
  // only on the tokens from there on.
  BidirectionalLanguageModel(std::unique_ptr<Model> model, const BidirectionalHeadConfig& head);

  // The names of the predictions, in their order.
  static constexpr std::array<std::string_view, 2> kPredictions{"forward", "backward"};
  // The number of targets that each prediction scores in a row of `length` tokens.
  static std::int64_t scored_targets(std::int64_t length) { return length - 1; }

  // The features (T, B, F) of both directions and their targets (T, B), in the order of time.
  std::array<TokenPrediction, 2> predictions(const Batch& batch) const;
  // Returns the cross-entropy of features (…, F) and one target (i32) for each of their rows. The logits are never in
  // memory all at once.
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const {
    return head_.loss(features, targets, options);
  }
  // Returns the training loss: the mean of the losses of both predictions. options.normalizer is the number of targets
  // of one direction.
  Variable loss(const Batch& batch, const CrossEntropyOptions& options) const;

 private:
  LMHead head_;
};

// Makes the model that the configuration describes, its parameters not initialized yet. Throws UsageError when its
// family is for another task.
std::unique_ptr<BidirectionalLanguageModel> make_bidirectional_language_model(const ResolvedConfig& config,
                                                                              const ModelVocabulary& vocabulary);

}  // namespace tapeformer
