// Trains a bidirectional language model on rows from random positions of a text.
#pragma once

#include "data/text/batcher.h"
#include "tasks/bidirectional_language_model/bidirectional_language_model.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

class BidirectionalObjective : public TextObjectiveOf<BidirectionalLanguageModel> {
 public:
  // Makes the model that the configuration describes.
  BidirectionalObjective(const ResolvedConfig& config, LanguageData data);

  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  const TextBatcher batcher_;
  TextBatch batch_;
};

}  // namespace tapeformer
