#include "train/objectives/language_objective.h"

#include "train/config/model_config.h"

namespace tapeformer {

LanguageObjective::LanguageObjective(const ResolvedConfig& config, LanguageData data)
    : config_(config),
      data_(std::move(data)),
      model_(make_language_model(config, model_vocabulary(config, *data_.tokenizer))),
      batcher_(data_.train.view(), config.train.batch, config.row_tokens(),
               static_cast<std::uint64_t>(config.train.seed)) {}

std::vector<std::string> LanguageObjective::description() const {
  return {str_cat(model_->parameter_count(), " parameters, vocabulary of ", data_.tokenizer->vocab_size(), ", ",
                  data_.train.size(), " training tokens")};
}

std::int64_t LanguageObjective::scored_targets(std::int64_t) {
  return config_.train.accumulate * config_.train.batch * config_.row_tokens();
}

Variable LanguageObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, double normalizer) {
  batcher_.draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
  // The next batch is read from disk while this one is worked on.
  const bool last = micro_step + 1 == config_.train.accumulate;
  batcher_.read_ahead(static_cast<std::uint32_t>(last ? step + 1 : step),
                      static_cast<std::uint32_t>(last ? 0 : micro_step + 1));
  const Dims sizes{batch_.rows, batch_.length};
  const Variable ids = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch_.inputs), sizes));
  const Variable targets = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch_.targets), sizes));
  return model_->loss(ids, targets,
                      {.smoothing = config_.train.label_smoothing,
                       .normalizer = normalizer,
                       .deferred = true,
                       .unsmoothed = unsmoothed_.place()});
}

Evaluation LanguageObjective::evaluate(const ProgressCallback& progress) {
  const WindowOptions options{
      .stride = config_.eval.stride, .batch = config_.train.batch, .max_batches = config_.eval.batches};
  return tapeformer::evaluate(*model_, data_.valid->view(), options, progress);
}

}  // namespace tapeformer
