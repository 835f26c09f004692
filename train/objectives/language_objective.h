// Training a language model on the next token of a text.
#pragma once

#include "nn/language_model.h"
#include "train/objectives/language_data.h"
#include "train/objectives/objective.h"

namespace tapeformer {

class LanguageObjective : public Objective {
 public:
  // Makes the model that the configuration describes.
  LanguageObjective(const ResolvedConfig& config, LanguageData data);

  const LanguageModel& model() const override { return *model_; }
  const LanguageData& data() const { return data_; }
  RunTokenizers tokenizers() const override { return {data_.tokenizer->to_json(), ""}; }
  std::uint64_t data_hash() const override { return data_.train.source_hash(); }
  std::uint64_t valid_hash() const override { return data_.valid ? data_.valid->source_hash() : 0; }
  std::vector<std::string> description() const override;
  std::vector<std::string> warnings() const override { return data_.warnings; }
  std::int64_t scored_targets(std::int64_t step) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, double normalizer) override;
  std::optional<double> take_unsmoothed_loss() override { return unsmoothed_.take(); }
  bool can_evaluate() const override { return data_.valid.has_value(); }
  Evaluation evaluate(const ProgressCallback& progress) override;
  std::int64_t evaluation_tokens() const override { return data_.valid->size() - 1; }
  std::int64_t evaluation_bytes() const override { return data_.valid->text_bytes(); }
  double unknown_share() const override {
    return static_cast<double>(data_.valid_unknown) / static_cast<double>(data_.valid->size());
  }

 private:
  const ResolvedConfig config_;
  const LanguageData data_;
  const std::unique_ptr<LanguageModel> model_;
  TextBatcher batcher_;
  Batch batch_;
  UnsmoothedLoss unsmoothed_{config_.train.label_smoothing};
};

}  // namespace tapeformer
