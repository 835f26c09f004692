// Training a decoder-only model on the next token of a text.
#pragma once

#include "train/objectives/language_data.h"
#include "train/objectives/objective.h"

namespace tapeformer {

class LanguageObjective : public Objective {
 public:
  // Keeps references to all three.
  LanguageObjective(const Config& config, const Gpt& model, const LanguageData& data);

  const Module& model() const override { return model_; }
  std::int64_t scored_targets(std::int64_t step) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, double normalizer) override;
  bool can_evaluate() const override { return data_.valid.has_value(); }
  Evaluation evaluate(const ProgressCallback& progress) override;
  std::int64_t evaluation_tokens() const override { return data_.valid->size() - 1; }
  std::int64_t evaluation_bytes() const override { return data_.valid->text_bytes(); }

 private:
  const Config& config_;
  const Gpt& model_;
  const LanguageData& data_;
  TextBatcher batcher_;
  Batch batch_;
};

}  // namespace tapeformer
