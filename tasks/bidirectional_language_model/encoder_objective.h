// Trains a bidirectional language model on rows from random positions of a text.
#pragma once

#include "data/text/batcher.h"
#include "nn/interfaces/model.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

class EncoderObjective : public TextObjective {
 public:
  // Makes the model that the configuration describes.
  EncoderObjective(const ResolvedConfig& config, LanguageData data);

  const BidirectionalLanguageModel& model() const override { return *model_; }
  DataFacts facts() const override;
  // The targets are those of one prediction: the loss is the mean of all predictions.
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  const std::unique_ptr<BidirectionalLanguageModel> model_;
  const TextBatcher batcher_;
  TextBatch batch_;
};

}  // namespace tapeformer
