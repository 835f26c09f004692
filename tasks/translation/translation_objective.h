// Trains a sequence-to-sequence model with teacher forcing.
#pragma once

#include "core/parallel.h"
#include "nn/interfaces/encoder_decoder.h"
#include "tasks/translation/translation_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

class TranslationObjective : public Objective {
 public:
  // Makes the model that the configuration describes. Throws Error when a pair, in training or validation, is longer
  // than train.batch_tokens.
  TranslationObjective(const ResolvedConfig& config, TranslationData data);

  const EncoderDecoder& model() const override { return *model_; }
  const TranslationData& data() const { return data_; }
  DataFacts facts() const override;
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;
  // BLEU of greedy translations of the first eval.bleu_sentences validation pairs.
  std::optional<double> bleu() override;
  // Greedy translations of the first validation pairs.
  std::vector<TextSample> samples(const std::function<bool()>& go_on) override;

  // The share of the positions of training batches that is padding.
  double padding_share() const { return batcher_.padding_share(); }
  std::int64_t steps_per_epoch() const { return chunk_count(batcher_.batches_per_epoch(), config_.train.accumulate); }

 private:
  // Greedy translations of `count` validation sentences, beginning with number `first`.
  std::vector<std::string> translations(std::int64_t first, std::int64_t count) const;
  // The index of a micro-step's batch since the start of the training.
  std::int64_t index(std::int64_t step, std::int64_t micro_step) const {
    return (step - 1) * config_.train.accumulate + micro_step;
  }

  const TranslationData data_;
  const std::unique_ptr<EncoderDecoder> model_;
  PairBatcher batcher_;
  PairBatch batch_;
};

}  // namespace tapeformer
