// Trains a language model to answer: the loss is that of the assistant's answers alone.
#pragma once

#include "data/chat/conversation_batcher.h"
#include "nn/interfaces/causal_model.h"
#include "tasks/instructions/instruction_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

// Rows hold several conversations where the model's family keeps documents apart; else each row is one conversation.
class InstructionObjective : public Objective {
 public:
  // Makes the model that the configuration describes.
  InstructionObjective(const ResolvedConfig& config, InstructionData data);

  const CausalModel& model() const override { return *model_; }
  const InstructionData& data() const { return data_; }
  DataFacts facts() const override;
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;
  // Answers of greedy decoding to the last questions of the first validation conversations.
  std::vector<TextSample> samples(const std::function<bool()>& go_on) override;

 private:
  const InstructionData data_;
  const ChatFormat format_;
  const std::unique_ptr<CausalModel> model_;
  ConversationBatcher batcher_;
  std::optional<ConversationBatcher> valid_;
  ConversationBatch batch_;
};

}  // namespace tapeformer
