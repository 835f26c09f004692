// Trains a masked language model on rows from random positions of a text, with new random masks for each row.
#pragma once

#include <span>

#include "data/masked/masked_batcher.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

class MaskedObjective : public TextObjectiveOf<MaskedLanguageModel> {
 public:
  // Makes the model that the configuration describes, unless there is one that other tasks train too. Throws UsageError
  // for a tokenizer that lacks a special token which the model needs.
  MaskedObjective(const ResolvedConfig& config, LanguageData data,
                  std::shared_ptr<MaskedLanguageModel> shared = nullptr);

  // `targets` counts the masked positions, `tokens` all tokens of the rows.
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  // The batches of these micro-steps of a step; all batches of a step are drawn together.
  std::span<const MaskedBatch> batches_of(std::int64_t step, MicroSteps micro_steps);

  const MaskedBatcher train_;
  std::optional<MaskedBatcher> valid_;  // set if the validation text has a masked position
  std::int64_t drawn_step_ = -1;
  std::vector<MaskedBatch> batches_;
};

}  // namespace tapeformer
