#include "tasks/bidirectional_language_model/encoder_objective.h"

#include "tasks/bidirectional_language_model/encoder_evaluation.h"
#include "tasks/common/models.h"

namespace tapeformer {

EncoderObjective::EncoderObjective(const ResolvedConfig& config, LanguageData data)
    : TextObjective(config, std::move(data)),
      model_(make_bidirectional_language_model(config, model_vocabulary(config, *data_.tokenizer))),
      batcher_(data_.train.view(), config.train.batch, config.block_size(),
               static_cast<std::uint64_t>(config.train.seed)) {}

DataFacts EncoderObjective::facts() const {
  DataFacts facts = TextObjective::facts();
  facts.description.push_back(loss_description(*model_));
  return facts;
}

StepSize EncoderObjective::step_size(std::int64_t, MicroSteps micro_steps) {
  const std::int64_t targets =
      micro_steps.size() * config_.train.batch * model_->scored_targets(config_.block_size() + 1);
  return {.targets = targets, .tokens = targets};
}

Variable EncoderObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  batcher_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
  const MicroStep following = next(step, micro_step);
  batcher_.read_ahead(following.step, following.micro_step);
  return model_->loss(text_rows(tape, batch_), loss_options(mean.targets));
}

Evaluation EncoderObjective::evaluate(const ProgressCallback& progress) {
  const WindowOptions options{
      .context = config_.block_size(), .batch = config_.train.batch, .max_batches = config_.eval.batches};
  return tapeformer::evaluate(*model_, data_.valid->view(), options, progress, ranks());
}

}  // namespace tapeformer
