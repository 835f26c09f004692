#include "tasks/labels/fine_tuning_objective.h"

#include <algorithm>
#include <iterator>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "core/ignored_target.h"
#include "data/text/encode_text.h"

namespace tapeformer {
namespace {

std::int64_t scored(std::span<const LabelledRow> rows) {
  std::int64_t sum = 0;
  for (const LabelledRow& row : rows) sum += row.scored();
  return sum;
}

// Balanced weights w_c = N/(C·n_c), where N is the number of labels, C the number of different ones, and n_c the number
// of labels c. Their mean over the training examples is 1, so the scale of the loss does not change. A label that never
// occurs has weight 0.
std::vector<double> balanced_weights(std::span<const LabelledRow> rows, std::int64_t labels) {
  std::vector<double> counts(labels, 0);
  for (const LabelledRow& row : rows) {
    for (const std::int32_t target : row.targets) {
      if (target != kIgnoredTarget) ++counts[target];
    }
  }
  const auto all = static_cast<double>(scored(rows));
  const auto kinds = static_cast<double>(labels - std::ranges::count(counts, 0));
  for (double& count : counts) count = count == 0 ? 0 : all / (kinds * count);
  return counts;
}

// −Σ_i w(y_i) ln softmax(logits_i)[y_i] / normalizer, over the targets y that are not ignored. Adds the same without
// weights to `nll` unless it is null.
Variable weighted_cross_entropy(const Variable& logits, std::span<const std::int32_t> targets,
                                std::span<const double> weights, double normalizer, double* nll) {
  const std::int64_t labels = logits.size(1);
  std::vector<std::int32_t> indices;
  std::vector<float> factors;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kIgnoredTarget) continue;
    indices.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) * labels) + targets[i]);
    factors.push_back(static_cast<float>(-weights[targets[i]] / normalizer));
  }
  Tape& tape = *logits.tape();
  const std::int64_t count = std::ssize(indices);
  const Variable log_p =
      embedding(reshape(log_softmax(logits), {-1, 1}),
                Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(indices), {count})));
  if (nll) {
    for (const double value : log_p.value().to(DType::f64).to_vector<double>()) *nll -= value / normalizer;
  }
  return sum(mul(log_p, Variable::constant(tape, Tensor::from(std::span<const float>(factors), {count, 1}))));
}

}  // namespace

FineTuningObjective::FineTuningObjective(const ResolvedConfig& config, LabelledData data, std::shared_ptr<Model> shared)
    : Objective(config),
      data_(std::move(data)),
      task_(find_label_task(config.task.kind)),
      model_(shared ? make_encoder_for_classification(config, std::move(shared), std::ssize(data_.labels))
                    : make_encoder_for_classification(config, *data_.tokenizer, std::ssize(data_.labels))) {
  const RowEncoder encoder(task_, model_->encoder(), *data_.tokenizer, data_.labels);
  const std::string& valid_file = config.data.valid_labels.empty() ? config.data.labels : config.data.valid_labels;
  train_ = encoder.encode_all(data_.train, config.data.labels);
  check(scored(train_) > 0, config.data.labels, ": expected ", task_.extracts_span ? "answers" : "labels",
        " within what the model reads of a text, ", config.context().value_or(0), " tokens (model.context), got none");
  valid_ = encoder.encode_all(data_.valid, valid_file);
  warnings_ = data_.warnings;
  std::ranges::move(row_notes(task_, train_, config.data.labels), std::back_inserter(warnings_));
  std::ranges::move(row_notes(task_, valid_, valid_file), std::back_inserter(warnings_));
  if (auto note = unknown_note(train_, *data_.tokenizer, config.data.labels, kMostUnknown))
    warnings_.push_back(*std::move(note));
  if (scored(valid_) == 0) valid_.clear();
  order_ = EpochOrder(std::ssize(train_), static_cast<std::uint64_t>(config.train.seed));
  if (config.task.class_weights == ClassWeights::balanced) {
    weights_ = balanced_weights(train_, model_->labels());
    nll_ = NllLoss(true);  // an evaluation weighs all labels alike
  }
}

ParameterRates FineTuningObjective::layer_rates() const { return model_->rates(config_.task.layer_decay); }

DataFacts FineTuningObjective::facts() const {
  return {.tokenizers = {data_.tokenizer->to_json(), "", labels_json(data_.labels)},
          .data_hash = data_.train_hash,
          .valid_hash = data_.valid_hash,
          .description = {str_cat(parameters_text(), ", vocabulary of ", data_.tokenizer->vocab_size()),
                          str_cat(data_.train.size(), " examples with ", scored(train_), " labels of ",
                                  data_.labels.size(), " kinds; the loss is in ", task().loss_unit,
                                  ", and the best checkpoint has the largest ", task_.metric_for_best_model)},
          .warnings = warnings_};
}

ValidationFacts FineTuningObjective::validation() const {
  if (valid_.empty()) return {.missing = "no validation labels"};
  std::int64_t read = 0;
  for (const LabelledRow& row : valid_) read += std::ssize(row.ids);
  return {.tokens = scored(valid_), .read = read};
}

std::vector<const LabelledRow*> FineTuningObjective::rows(std::int64_t step, std::int64_t begin, std::int64_t count) {
  const std::int64_t first = (step - 1) * config_.train.batch * config_.train.accumulate + begin;
  std::vector<const LabelledRow*> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(&train_[order_.at(first + i)]);
  return rows;
}

StepSize FineTuningObjective::step_size(std::int64_t step, MicroSteps micro_steps) {
  const std::int64_t batch = config_.train.batch;
  StepSize size;
  for (const LabelledRow* row : rows(step, micro_steps.begin * batch, micro_steps.size() * batch)) {
    size.targets += row->scored();
    size.tokens += std::ssize(row->ids);
  }
  return size;
}

Variable FineTuningObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  const LabelledBatch batch = batch_of(tape, rows(step, micro_step * config_.train.batch, config_.train.batch));
  if (std::ranges::all_of(batch.targets, [](std::int32_t target) { return target == kIgnoredTarget; })) return {};
  const Variable logits = model_->logits(batch.rows, batch.positions);
  if (!weights_.empty()) {
    return weighted_cross_entropy(logits, batch.targets, weights_, mean.normalizer(), nll_.accumulator());
  }
  const CrossEntropyOptions options{.smoothing = config_.train.label_smoothing,
                                    .z_loss = config_.train.z_loss,
                                    .normalizer = mean.normalizer(),
                                    .nll = nll_.accumulator()};
  const auto loss = [&](const Variable& rows, std::span<const std::int32_t> targets) {
    return cross_entropy(rows, Variable::constant(tape, Tensor::from(targets, {std::ssize(targets)})), options);
  };
  if (!task_.extracts_span) return loss(logits, batch.targets);
  Variable sum;
  std::span<const std::int32_t> left = batch.targets;
  for (const Variable& of_row : span_logits(logits, batch)) {
    const Variable of_label = loss(of_row, left.first(of_row.size(0)));
    sum = sum.defined() ? add(sum, of_label) : of_label;
    left = left.subspan(of_row.size(0));
  }
  return sum;
}

Evaluation FineTuningObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, task_, data_.labels, data_.valid, valid_, config_.train.batch, progress, ranks())
      .evaluation;
}

}  // namespace tapeformer
