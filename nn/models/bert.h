// BERT, an encoder that learns to predict masked tokens (Devlin et al. 2019).
#pragma once

#include "nn/blocks/block.h"
#include "nn/layers/lm_head.h"
#include "nn/layers/positions.h"
#include "nn/models/registry.h"

namespace tapeformer {

struct BertConfig {
  std::int64_t vocab = 0;
  std::int64_t context = 128;
  std::int64_t layers = 4;
  BlockConfig block;
  PositionKind position = PositionKind::learned;
  double position_base = 10000;
  std::int64_t segments = 1;   // number of segments of a row: 1, or 2 with an embedding for each
  bool next_sentence = false;  // whether the model has a pooler and next-sentence prediction
  double logit_softcap = 0;    // the bound of the logits of tokens; 0: none
};

// Returns the row of the registry.
ModelFamily bert_family();

// LN(GELU(h W + b)) Eᵀ + b′ with the token embedding E: h (…, dim) → (…, vocab).
class MaskedTokenHead : public Module {
 public:
  MaskedTokenHead(const BlockConfig& config, const Embedding& embedding, double softcap);
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
  std::unique_ptr<Norm> norm_;
  LMHead output_;
};

// X = dropout(LN(E[token] + P[position] + S[segment])), followed by blocks in which every token attends to all tokens
// of its row. Next-sentence prediction is a linear layer on tanh(h W + b), where h is the vector of the first token,
// [CLS].
class Bert : public MaskedLanguageModel {
 public:
  // Throws Error if next_sentence is set without two segments.
  explicit Bert(const BertConfig& config);

  const BertConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return config_.context; }
  // Returns X and the output of every block, (B, T, dim) each.
  std::vector<Variable> hidden_states(const EncoderBatch& rows) const override;
  Variable forward(const EncoderBatch& rows) const override {
    return call([&] { return encode(rows, embed(rows)); });
  }
  Variable logits(const Variable& features) const override { return head_.logits(features); }
  using MaskedLanguageModel::loss;
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const override {
    return head_.loss(features, targets, options);
  }
  bool predicts_next_sentence() const override { return config_.next_sentence; }
  Variable next_sentence_logits(const Variable& features) const override;

 private:
  Variable embed(const EncoderBatch& rows) const;
  Variable encode(const EncoderBatch& rows, const Variable& x, std::vector<Variable>* layers = nullptr) const;

  BertConfig config_;
  Embedding token_embedding_;
  PositionEmbedding positions_;
  std::unique_ptr<Embedding> segment_embedding_;
  std::unique_ptr<Norm> embedding_norm_;
  Dropout dropout_;
  BlockStack stack_;
  MaskedTokenHead head_;
  std::unique_ptr<Linear> pooler_, next_sentence_;
};

}  // namespace tapeformer
