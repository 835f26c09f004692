// Masked language modelling (Devlin et al. 2019): a model learns to predict the tokens at masked positions of its rows,
// and possibly whether one segment of a row follows the other.
#pragma once

#include <memory>

#include "nn/blocks/block.h"
#include "nn/interfaces/model_with_heads.h"
#include "nn/layers/lm_head.h"
#include "train/config/config.h"

namespace tapeformer {

// LN(GELU(h W + b)) Eᵀ + b′: h (…, dim) → (…, vocab). E is the token embedding if `tied`, else a matrix of its own.
class MaskedLMHead : public Module {
 public:
  // The width, the norm and the initial values are those of the model's blocks, and b exists if the blocks'
  // feed-forward layers have biases. `softcap` bounds the logits; 0: no bound.
  MaskedLMHead(const BlockConfig& config, const Embedding& embedding, bool tied, double softcap);
  Variable logits(const Variable& features) const {
    return call([&] { return output_.logits(transformed(features)); });
  }
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const {
    return has_hooks() ? loss_of_logits(logits(features), targets, options)
                       : output_.loss(transformed(features), targets, options);
  }

 private:
  Variable transformed(const Variable& features) const;

  Linear transform_;
  std::unique_ptr<Norm> norm_;  // null: none
  LMHead output_;
};

// Rows of text with masked positions, whose tokens are predicted. Most, but not all, masked positions hold [MASK].
struct MaskedRows {
  Batch text;
  // i32 (B, T): the original token at each masked position, kIgnoredTarget at the others.
  Tensor targets;
  // i32 (B), for next-sentence prediction: 0 if the second segment follows the first one in the text, 1 if it does not,
  // kIgnoredTarget if the row is not scored. Undefined without next-sentence prediction.
  Tensor sentence_labels = {};
};

// Selects from features (B, T, F) the positions whose target is scored. Returns their features (N, F) and targets i32
// (N), in order.
TokenPrediction scored_positions(const Variable& features, const Tensor& targets);

// Next-sentence prediction is a linear layer on tanh(h W + b), where h is the vector of the first token, [CLS].
class MaskedLanguageModel : public ModelWithHeads {
 public:
  // The heads have the width, the norm and the initial values of the model's blocks. `logit_softcap` is the bound of
  // the logits of tokens; 0: none. `tied`: the matrix that predicts tokens is their embedding.
  MaskedLanguageModel(std::unique_ptr<Model> model, const BlockConfig& blocks, bool next_sentence,
                      double logit_softcap = 0, bool tied = true);

  // Features (…, F) → logits (…, vocab).
  Variable logits(const Variable& features) const { return head_.logits(features); }
  // Returns the cross-entropy of features (…, F) and one target (i32) for each of their rows. The logits are never in
  // memory all at once.
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const {
    return head_.loss(features, targets, options);
  }
  bool predicts_next_sentence() const { return next_sentence_ != nullptr; }
  // Features (B, T, F) → logits (B, 2); the first one means that the second segment follows the first.
  Variable next_sentence_logits(const Variable& features) const;
  // Returns the training loss: the cross-entropy of the masked positions plus, with next-sentence prediction, the
  // cross-entropy of the sentence labels. The options are for the tokens; the sum over the labels is divided by
  // `sentences` (0: by their number). Only the masked positions go through the head. There must be at least one masked
  // position, or labels.
  Variable loss(const MaskedRows& rows, const CrossEntropyOptions& options, double sentences = 0) const;

 private:
  std::unique_ptr<Linear> pooler_, next_sentence_;  // null without next-sentence prediction
  MaskedLMHead head_;
};

// Makes the model that the configuration describes, its parameters not initialized yet. Throws UsageError when its
// family is for another task.
std::unique_ptr<MaskedLanguageModel> make_masked_language_model(const ResolvedConfig& config,
                                                                const ModelVocabulary& vocabulary);

}  // namespace tapeformer
