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

std::vector<std::string> SkipGramObjective::description() const {
  std::vector<std::string> lines = TextObjective::description();
  lines.push_back(str_cat("the loss is in ", task().loss_unit, " of a token and one at most ", model_->window(),
                          " from it, against ", model_->negatives(), " that are drawn"));
  return lines;
}

std::int64_t SkipGramObjective::step_tokens(std::int64_t, MicroSteps micro_steps) {
  return micro_steps.size() * config_.train.batch * config_.block_size();
}

std::int64_t SkipGramObjective::scored_targets(std::int64_t step, MicroSteps micro_steps) {
  return step_tokens(step, micro_steps) * 2 * model_->window();
}

Variable SkipGramObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  train_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
  return model_->loss(skip_gram_pairs(tape, batch_, *model_), mean.targets);
}

std::string_view SkipGramObjective::cannot_evaluate_because() const {
  return data_.valid ? "the validation text is shorter than one window" : TextObjective::cannot_evaluate_because();
}

Evaluation SkipGramObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, *valid_, config_.eval.batches, progress, ranks());
}

}  // namespace tapeformer
