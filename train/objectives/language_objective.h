// Training a language model on the next token of a text.
#pragma once

#include "nn/recurrent.h"
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
  NamedTensors carried() const override;
  void carry(const NamedTensors& carried) override;
  bool can_evaluate() const override { return data_.valid.has_value(); }
  Evaluation evaluate(const ProgressCallback& progress) override;
  std::int64_t evaluation_tokens() const override { return data_.valid->size() - 1; }
  std::int64_t evaluation_bytes() const override { return data_.valid->text_bytes(); }
  double unknown_share() const override {
    return static_cast<double>(data_.valid_unknown) / static_cast<double>(data_.valid->size());
  }

 private:
  // Reads the rows of a micro-step into batch_, and tells the system which ones come next.
  void draw(std::int64_t step, std::int64_t micro_step);

  const ResolvedConfig config_;
  const LanguageData data_;
  const std::unique_ptr<LanguageModel> model_;
  // A recurrent model (null for others) reads its rows in order, and each micro-step leaves a state to the next step.
  const RecurrentLanguageModel* const recurrent_;
  std::optional<StreamBatcher> streams_;
  std::vector<RecurrentState> states_;
  std::optional<TextBatcher> batcher_;  // of the other models: rows from anywhere
  Batch batch_;
  UnsmoothedLoss unsmoothed_{config_.train.label_smoothing};
};

}  // namespace tapeformer
