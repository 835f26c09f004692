#include "tasks/sentences/sentence_objective.h"

#include <algorithm>
#include <iterator>

#include "data/text/encode_text.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "tasks/common/models.h"

namespace tapeformer {
namespace {

std::int64_t size_of_pair(const SentenceRows& pair) { return std::ssize(pair.first.ids) + std::ssize(pair.second.ids); }

}  // namespace

SentenceObjective::SentenceObjective(const ResolvedConfig& config, SentenceData data)
    : Objective(config),
      data_(std::move(data)),
      model_(make_model_with_heads(config, model_vocabulary(config, *data_.tokenizer))) {
  const RowFrame frame = row_frame(*model_, *data_.tokenizer);
  train_ = encode_sentences(data_.train, data_.text.origin(), *data_.tokenizer, frame);
  const ParallelText& valid_text = data_.valid_text ? *data_.valid_text : data_.text;
  const std::size_t first = data_.valid_text ? 1 : data_.train.size() + 1;  // the last part of a text validates
  valid_ = encode_sentences(data_.valid, valid_text.origin(), *data_.tokenizer, frame, first);
  check(!train_.empty(), data_.text.origin(), ": no pair of sentences is left to train on, all are for validation");
  order_ = EpochOrder(std::ssize(train_), static_cast<std::uint64_t>(config.train.seed));
}

ParameterRates SentenceObjective::layer_rates() const { return encoder_rates(*model_, config_.task.layer_decay); }

DataFacts SentenceObjective::facts() const {
  std::vector<std::string> warnings = data_.text.notes().lines();
  if (data_.valid_text) std::ranges::move(data_.valid_text->notes().lines(), std::back_inserter(warnings));
  if (auto note = unknown_note(train_, *data_.tokenizer, data_.text.origin(), kMostUnknown))
    warnings.push_back(*std::move(note));
  return {.tokenizers = {data_.tokenizer->to_json(), ""},
          .data_hash = pairs_hash(data_.train),
          .valid_hash = data_.valid.empty() ? 0 : pairs_hash(data_.valid),
          .description = {str_cat(parameters_text(), ", vocabulary of ", data_.tokenizer->vocab_size()),
                          str_cat(train_.size(), " pairs of sentences; the loss is in ", task().loss_unit,
                                  ", and the best checkpoint finds the most sentences")},
          .warnings = std::move(warnings)};
}

ValidationFacts SentenceObjective::validation() const {
  if (valid_.size() < 2) return {.missing = "fewer than two pairs of sentences for validation"};
  std::int64_t read = 0;
  for (const SentenceRows& pair : valid_) read += size_of_pair(pair);
  return {.tokens = std::ssize(valid_), .read = read};
}

std::vector<const SentenceRows*> SentenceObjective::pairs(std::int64_t step, MicroSteps micro_steps) {
  const std::int64_t batch = config_.train.batch, first = (step - 1) * batch * config_.train.accumulate;
  std::vector<const SentenceRows*> pairs;
  for (std::int64_t i = micro_steps.begin * batch; i < micro_steps.end * batch; ++i)
    pairs.push_back(&train_[order_.at(first + i)]);
  return pairs;
}

StepSize SentenceObjective::step_size(std::int64_t step, MicroSteps micro_steps) {
  StepSize size;
  for (const SentenceRows* pair : pairs(step, micro_steps)) {
    size.targets += 1;
    size.tokens += size_of_pair(*pair);
  }
  return size;
}

Variable SentenceObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  std::vector<const SentenceRow*> first, second;
  for (const SentenceRows* pair : pairs(step, {micro_step, micro_step + 1})) first.push_back(&pair->first);
  std::vector<std::string_view> texts;
  for (const SentenceRows* pair : pairs(step, {0, config_.train.accumulate})) {
    second.push_back(&pair->second);
    texts.emplace_back(pair->second.text);
  }
  const Variable u = unit_vectors(tape, *model_, first), v = unit_vectors(tape, *model_, second);
  return contrastive_loss(u, v, micro_step * config_.train.batch, config_.task.temperature, mean.normalizer(), texts);
}

Evaluation SentenceObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, valid_, config_.task.temperature, config_.train.batch, progress, ranks());
}

}  // namespace tapeformer
