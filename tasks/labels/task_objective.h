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
  ParameterRates rates() const override;
  RunTokenizers tokenizers() const override { return {data_.tokenizer->to_json(), "", labels_json(data_.labels)}; }
  std::uint64_t data_hash() const override { return data_.train_hash; }
  std::uint64_t valid_hash() const override { return data_.valid_hash; }
  std::vector<std::string> description() const override;
  std::vector<std::string> warnings() const override { return warnings_; }
  // The number of labels of their examples.
  std::int64_t scored_targets(std::int64_t step, MicroSteps micro_steps) override;
  // The number of tokens that the model reads: only a few of them, perhaps one in a text, have a label.
  std::int64_t step_tokens(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  std::optional<double> take_nll_loss() override { return nll_.take(); }
  bool can_evaluate() const override { return !valid_.empty(); }
  std::string_view cannot_evaluate_because() const override { return "no validation labels"; }
  Evaluation evaluate(const ProgressCallback& progress) override;
  std::int64_t evaluation_tokens() const override;
  std::int64_t evaluation_bytes() const override { return 0; }

 private:
  // The row of this number in all rows that training reads, counted from 0.
  const LabelledRow& row(std::int64_t number);
  std::vector<const LabelledRow*> rows(std::int64_t step, std::int64_t begin, std::int64_t count);

  const TaskData data_;
  const LabelTask& task_;
  const std::unique_ptr<EncoderForClassification> model_;
  std::vector<LabelledRow> train_, valid_;
  std::vector<std::string> warnings_;
  std::vector<double> weights_;  // weights of the labels in the loss; empty where all are equal
  NllLoss nll_;
  std::int64_t epoch_ = -1;  // the epoch that order_ belongs to
  std::vector<std::int64_t> order_;
};

}  // namespace tapeformer
