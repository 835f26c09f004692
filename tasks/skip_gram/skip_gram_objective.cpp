#include "tasks/skip_gram/skip_gram_objective.h"

#include "tasks/skip_gram/skip_gram_evaluation.h"

namespace tapeformer {

SkipGramObjective::SkipGramObjective(const ResolvedConfig& config, LanguageData data)
    : TextObjectiveOf(config, std::move(data), make_skip_gram_model),
      options_(skip_gram_options(config, config.train.batch)),
      train_(data_.train.view(), model_->vocab(), options_) {
  micro_step_size_.tokens = config.train.batch * config.block_size();  // the centres
  micro_step_size_.targets = micro_step_size_.tokens * options_.predictions();
  loss_description_ =
      str_cat("the loss is in ", task().loss_unit, " of a token and ", options_.cbow ? "the mean of those" : "one",
              " at most ", options_.window, " from it, against ", options_.negatives, " that are drawn");
  if (!data_.valid) return;
  if (data_.valid->size() > options_.contexts()) {
    valid_.emplace(data_.valid->view(), model_->vocab(), options_);
  } else {
    unscored_ = "the validation text is shorter than one window";
  }
}

Variable SkipGramObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  train_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
  return model_->loss(skip_gram_pairs(tape, batch_, options_), mean.normalizer());
}

Evaluation SkipGramObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, *valid_, config_.eval.batches, progress, ranks());
}

}  // namespace tapeformer
