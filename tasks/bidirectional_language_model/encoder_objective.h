// Trains a bidirectional language model on rows from random positions of a text.
#pragma once

#include "data/text/batcher.h"
#include "nn/interfaces/text_encoder.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

class EncoderObjective : public TextObjective {
 public:
  // Makes the model that the configuration describes.
  EncoderObjective(const ResolvedConfig& config, LanguageData data);

  const BidirectionalLanguageModel& model() const override { return *model_; }
  std::vector<std::string> description() const override;
  // The targets of one prediction only: the loss is the mean over all predictions.
  std::int64_t scored_targets(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  const std::unique_ptr<BidirectionalLanguageModel> model_;
  const TextBatcher batcher_;
  Batch batch_;
};

}  // namespace tapeformer
