// Trains one model on several tasks: Σ λ L over the tasks, where L is the loss of a task and λ its weight.
#pragma once

#include "nn/interfaces/multi_task_model.h"
#include "tasks/multi_task/multi_task_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

// Each step draws one task, in proportion to rows^α (MultiTaskData::probabilities), and minimises λ L of that task on
// the task's next data. What a step draws is a pure function of the seed and the step, and how many steps of a task
// came before follows from that, so a run that is resumed goes on as if it had not been stopped.
class MultiTaskObjective : public Objective {
 public:
  MultiTaskObjective(const ResolvedConfig& config, MultiTaskData data);

  // An evaluation of one task.
  struct TaskEvaluation {
    std::string name;
    double weight;
    std::string unit;  // of its loss
    Evaluation evaluation;
  };
  // Returns the evaluations of all tasks that have validation data.
  std::vector<TaskEvaluation> evaluate_tasks(const ProgressCallback& progress);
  // Returns what evaluate() makes of them.
  Evaluation total(std::span<const TaskEvaluation> tasks) const;

  const MultiTaskModel& model() const override { return model_; }
  const Module& initial_part() const override { return *model_.trunk(); }
  DataFacts facts() const override;
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  // The loss is the mean of the tasks' losses, weighted by the tasks' weights. The metrics are the tasks' own, named
  // "NAME_loss" and so on; config.metric_for_best_model() chooses the best checkpoint.
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  struct Task {
    std::string name, kind;
    double weight, probability, rows;
    std::shared_ptr<Objective> objective;
    const EncoderForClassification* classifier;  // null for a task of text
    std::vector<std::string> metrics;            // SharedTask::metrics()
  };
  // What a step trains: a task, and the number of the step among the steps of this task, counted from 1.
  struct Draw {
    std::size_t task;
    std::int64_t step;
  };
  Draw draw(std::int64_t step);
  ParameterRates layer_rates() const override;

  const std::string tokenizer_, labels_;
  const SharedModel shared_;
  MultiTaskModel model_;
  std::vector<Task> tasks_;
  std::vector<Draw> draws_;           // for each step from 1 on that was asked for so far
  std::vector<std::int64_t> counts_;  // how many of these steps draw each task
};

}  // namespace tapeformer
