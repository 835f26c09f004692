// Fine-tunes a model on labelled examples.
#pragma once

#include "tasks/labels/labelled_rows.h"
#include "tasks/labels/task_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

// A step reads the next examples in an order that is shuffled for each epoch. The order is a pure function of the seed
// and the epoch; the number of micro-steps has no influence.
class TaskObjective : public Objective {
 public:
  // Makes the model that the configuration describes. Throws Error for an example that the model cannot read.
  TaskObjective(const ResolvedConfig& config, TaskData data);

  const TaskData& data() const { return data_; }
  const EncoderForClassification& model() const override { return *model_; }
  const Module& initial_part() const override { return model_->encoder(); }
  DataFacts facts() const override;
  // The labels of their examples, and all tokens that the model reads: few of them have a label, or even only one in
  // a text.
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  ParameterRates layer_rates() const override;
  // The row of this number in all rows that training reads, counted from 0.
  const LabelledRow& row(std::int64_t number);
  std::vector<const LabelledRow*> rows(std::int64_t step, std::int64_t begin, std::int64_t count);

  const TaskData data_;
  const LabelTask& task_;
  const std::unique_ptr<EncoderForClassification> model_;
  std::vector<LabelledRow> train_, valid_;
  std::vector<std::string> warnings_;
  std::vector<double> weights_;  // of the labels' losses; empty where all are alike
  std::int64_t epoch_ = -1;      // of order_
  std::vector<std::int64_t> order_;
};

}  // namespace tapeformer
