// Trains a sequence-to-sequence model with teacher forcing.
#pragma once

#include "nn/interfaces/encoder_decoder.h"
#include "tasks/translation/pair_objective.h"

namespace tapeformer {

class TranslationObjective : public PairObjective {
 public:
  // Makes the model that the configuration describes. Throws Error when a pair, in training or validation, is longer
  // than train.batch_tokens.
  TranslationObjective(const ResolvedConfig& config, TranslationData data);

  const EncoderDecoder& model() const override { return *model_; }
  const TranslationData& data() const { return data_; }
  DataFacts facts() const override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  std::int64_t given_count() const override { return std::ssize(data_.valid_pairs()); }
  TextSample given(std::int64_t index) const override;
  std::vector<std::string> written(std::int64_t first, std::int64_t count) const override;

  const TranslationData data_;
  const std::unique_ptr<EncoderDecoder> model_;
};

}  // namespace tapeformer
