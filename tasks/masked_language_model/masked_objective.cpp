#include "tasks/masked_language_model/masked_objective.h"

#include "tasks/masked_language_model/masked_evaluation.h"

namespace tapeformer {

MaskedObjective::MaskedObjective(const ResolvedConfig& config, LanguageData data,
                                 std::shared_ptr<MaskedLanguageModel> shared)
    : TextObjectiveOf(config, std::move(data), make_masked_language_model, std::move(shared)),
      train_(data_.train.view(), *data_.tokenizer, masked_row_options(config, config.train.batch)),
      batches_(config.train.accumulate) {
  if (model_->predicts_next_sentence()) nll_ = NllLoss(true);  // the loss of an evaluation is that of tokens alone
  loss_description_ =
      str_cat("the loss is in ", task().loss_unit, ": ", 100 * config_.train.mlm_probability,
              " % of the tokens are chosen, anew in every step",
              model_->predicts_next_sentence() ? "; next-sentence prediction adds its own in training" : "");
  if (!data_.valid) return;
  valid_.emplace(data_.valid->view(), *data_.tokenizer, masked_row_options(config, config.train.batch));
  const std::int64_t scored = scored_batches(valid_->batches(), config.eval.batches);
  MaskedBatch batch;
  for (std::int64_t i = 0; i < scored && batch.masked == 0; ++i) valid_->fill(i, batch);
  if (batch.masked > 0) return;
  valid_.reset();
  unscored_ = "no token of the validation text is chosen";
}

std::span<const MaskedBatch> MaskedObjective::batches_of(std::int64_t step, MicroSteps micro_steps) {
  if (drawn_step_ != step) {
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      train_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(i), batches_[i]);
    }
    drawn_step_ = step;
  }
  return std::span(batches_).subspan(micro_steps.begin, micro_steps.size());
}

StepSize MaskedObjective::step_size(std::int64_t step, MicroSteps micro_steps) {
  StepSize size;
  for (const MaskedBatch& batch : batches_of(step, micro_steps)) {
    size.targets += batch.masked;
    size.tokens += batch.rows * batch.length;
  }
  return size;
}

Variable MaskedObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  const MaskedBatch& batch = batches_of(step, {micro_step, micro_step + 1}).front();
  if (batch.masked == 0 && batch.sentences == 0) return {};
  const auto rows = static_cast<double>(config_.train.batch * mean.micro_steps);  // each row has a label
  return model_->loss(masked_rows(tape, batch), loss_options(mean.normalizer()), rows / mean.weight);
}

Evaluation MaskedObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, *valid_, config_.eval.batches, progress, ranks());
}

}  // namespace tapeformer
