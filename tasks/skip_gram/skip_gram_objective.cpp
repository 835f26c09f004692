#include "tasks/skip_gram/skip_gram_objective.h"

#include "tasks/common/models.h"
#include "tasks/skip_gram/skip_gram_evaluation.h"

namespace tapeformer {

SkipGramObjective::SkipGramObjective(const ResolvedConfig& config, LanguageData data)
    : TextObjective(config, std::move(data)),
      model_(make_skip_gram_model(config, model_vocabulary(config, *data_.tokenizer))),
      train_(data_.train.view(), model_->vocab(), skip_gram_options(config, *model_, config.train.batch)) {
  if (data_.valid && data_.valid->size() > 2 * model_->window()) {
    valid_.emplace(data_.valid->view(), model_->vocab(), skip_gram_options(config, *model_, config.train.batch));
  }
}

DataFacts SkipGramObjective::facts() const {
  DataFacts facts = TextObjective::facts();
  facts.description.push_back(str_cat("the loss is in ", task().loss_unit, " of a token and one at most ",
                                      model_->window(), " from it, against ", model_->negatives(), " that are drawn"));
  return facts;
}

StepSize SkipGramObjective::step_size(std::int64_t, MicroSteps micro_steps) {
  const std::int64_t centres = micro_steps.size() * config_.train.batch * config_.block_size();
  return {.targets = centres * 2 * model_->window(), .tokens = centres};
}

Variable SkipGramObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  train_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
  return model_->loss(skip_gram_pairs(tape, batch_, *model_), mean.targets);
}

ValidationFacts SkipGramObjective::validation() const {
  if (data_.valid && !valid_) return {.missing = "the validation text is shorter than one window"};
  return TextObjective::validation();
}

Evaluation SkipGramObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, *valid_, config_.eval.batches, progress, ranks());
}

}  // namespace tapeformer
