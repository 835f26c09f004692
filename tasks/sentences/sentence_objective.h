// Fine-tunes a model such that the vectors of two sentences are near if these say the same.
#pragma once

#include "core/shuffle.h"
#include "tasks/sentences/sentence_vectors.h"
#include "train/loop/objective.h"

namespace tapeformer {

struct SentenceData {
  std::unique_ptr<Tokenizer> tokenizer;
  ParallelText text;                       // owns the sentences of both parts
  std::optional<ParallelText> valid_text;  // owns the sentences for validation, if they come from a file of their own
  std::span<const SentencePair> train, valid;
};

// Contrastive learning with in-batch negatives: the negatives of a pair's first sentence are the second sentences of
// all other pairs of the same step. Each micro-step reads the second sentences of the whole step, so that the division
// of a step into micro-steps has no influence. A step reads the next pairs in an order that is shuffled for each epoch.
class SentenceObjective : public Objective {
 public:
  // Makes the model that the configuration describes. Throws Error for a sentence that the model cannot read.
  SentenceObjective(const ResolvedConfig& config, SentenceData data);

  const SentenceData& data() const { return data_; }
  const Model& model() const override { return *model_; }
  DataFacts facts() const override;
  // `targets` counts the pairs, `tokens` the tokens of both sentences.
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  ParameterRates layer_rates() const override;
  // The pairs of these micro-steps.
  std::vector<const SentenceRows*> pairs(std::int64_t step, MicroSteps micro_steps);

  const SentenceData data_;
  const std::unique_ptr<Model> model_;
  std::vector<SentenceRows> train_, valid_;
  EpochOrder order_;
};

}  // namespace tapeformer
