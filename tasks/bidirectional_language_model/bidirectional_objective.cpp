#include "tasks/bidirectional_language_model/bidirectional_objective.h"

#include "tasks/bidirectional_language_model/bidirectional_evaluation.h"

namespace tapeformer {

BidirectionalObjective::BidirectionalObjective(const ResolvedConfig& config, LanguageData data)
    : TextObjectiveOf(config, std::move(data), make_bidirectional_language_model),
      batcher_(data_.train.view(), config.train.batch, config.block_size(),
               static_cast<std::uint64_t>(config.train.seed)) {
  // Counts the targets of one direction, since the loss is the mean of both directions.
  micro_step_size_.targets = micro_step_size_.tokens =
      config.train.batch * BidirectionalLanguageModel::scored_targets(config.block_size() + 1);
  loss_description_ = "the loss is in nats per token, the mean of the predictions forward and backward";
}

Variable BidirectionalObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step,
                                            const MeanOver& mean) {
  batcher_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
  const MicroStep following = next(step, micro_step);
  batcher_.read_ahead(following.step, following.micro_step);
  return model_->loss(text_rows(tape, batch_), loss_options(mean.normalizer()));
}

Evaluation BidirectionalObjective::evaluate(const ProgressCallback& progress) {
  const WindowOptions options{
      .context = config_.block_size(), .batch = config_.train.batch, .max_batches = config_.eval.batches};
  return tapeformer::evaluate(*model_, data_.valid->view(), options, progress, ranks());
}

}  // namespace tapeformer
