// Trains a skip-gram model on pairs of near tokens, with new negatives for each pair.
#pragma once

#include "data/skip_gram/skip_gram_batcher.h"
#include "tasks/skip_gram/skip_gram_model.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

class SkipGramObjective : public TextObjectiveOf<SkipGramModel> {
 public:
  // Makes the model that the configuration describes.
  SkipGramObjective(const ResolvedConfig& config, LanguageData data);

  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  const SkipGramOptions options_;
  const SkipGramBatcher train_;
  std::optional<SkipGramBatcher> valid_;  // set if the validation text has a centre
  SkipGramBatch batch_;
};

}  // namespace tapeformer
