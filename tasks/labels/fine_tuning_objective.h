// Fine-tunes a model on labelled examples.
#pragma once

#include "core/shuffle.h"
#include "tasks/labels/labelled_data.h"
#include "tasks/labels/labelled_rows.h"
#include "train/loop/objective.h"

namespace tapeformer {

// A step reads the next examples in an order that is shuffled for each epoch. The order is a pure function of the seed
// and the epoch; the number of micro-steps has no influence.
class FineTuningObjective : public Objective {
 public:
  // Makes the model that the configuration describes; with `shared`, an encoder that other tasks train too, only its
  // classifier. Throws Error for an example that the model cannot read.
  FineTuningObjective(const ResolvedConfig& config, LabelledData data, std::shared_ptr<Model> shared = nullptr);

  const LabelledData& data() const { return data_; }
  const EncoderForClassification& model() const override { return *model_; }
  const Module& initial_part() const override { return model_->encoder(); }
  DataFacts facts() const override;
  // `targets` counts the labels, `tokens` all tokens that the model reads: only some of them have a label.
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  ParameterRates layer_rates() const override;
  std::vector<const LabelledRow*> rows(std::int64_t step, std::int64_t begin, std::int64_t count);

  const LabelledData data_;
  const LabelTask& task_;
  const std::unique_ptr<EncoderForClassification> model_;
  std::vector<LabelledRow> train_, valid_;
  std::vector<std::string> warnings_;
  std::vector<double> weights_;  // the weight of each label in the loss; empty: all weights are 1
  EpochOrder order_;
};

}  // namespace tapeformer
