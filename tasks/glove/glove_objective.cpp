#include "tasks/glove/glove_objective.h"

#include <array>
#include <cmath>

#include "autograd/tape/tape.h"
#include "core/parallel.h"
#include "data/text/row_keys.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kGloveRowStream = mix64(0x676c6f7665726f77);  // "gloverow"

// Sums over pairs, from which GloveFit is computed. e is the error before the constant is left out; p and l are the
// prediction and ln X of frequent pairs.
enum Sum : std::size_t { kWeight, kWeightE, kWeightEE, kFrequent, kP, kL, kPP, kLL, kPL, kSums };

double fitted_correlation(std::span<const double> sums) {
  const double n = sums[kFrequent];
  const double pp = sums[kPP] - sums[kP] * sums[kP] / n, ll = sums[kLL] - sums[kL] * sums[kL] / n;
  const double pl = sums[kPL] - sums[kP] * sums[kL] / n;
  return pp > 0 && ll > 0 ? pl / std::sqrt(pp * ll) : 0;
}

}  // namespace

GloveWeighting glove_weighting(const ResolvedConfig& config) {
  return {.x_max = config.model.options.number("x_max"), .alpha = config.model.options.number("alpha")};
}

GloveFit evaluate(const GloveModel& model, std::span<const Cooccurrence> pairs, const GloveWeighting& weighting,
                  std::int64_t batch, std::int64_t max_batches, const ProgressCallback& progress, Communicator& ranks) {
  constexpr double kLeastFrequent = 3;
  const std::int64_t all = chunk_count(std::ssize(pairs), batch);
  const std::int64_t batches = scored_batches(all, max_batches);
  const std::int64_t scored = std::min(batches * batch, std::ssize(pairs));
  std::array<double, kSums> sums{};
  std::vector<Cooccurrence> part;
  for_own_batches(batches, ranks, progress, [&](std::int64_t i) {
    // The pairs are sorted by their tokens, so the first ones would be those of a few tokens alone.
    part.clear();
    for (std::int64_t k = i * batch; k < std::min(scored, (i + 1) * batch); ++k)
      part.push_back(pairs[k * std::ssize(pairs) / scored]);
    Tape tape(no_grad);
    const Tensor predicted =
        model.predict(tokens_of(tape, part, &Cooccurrence::i), tokens_of(tape, part, &Cooccurrence::j))
            .value()
            .to(DType::f64);
    for (std::size_t k = 0; k < part.size(); ++k) {
      const double p = predicted.data<double>()[k], l = std::log(part[k].count), e = p - l;
      const double f = weighting.weight(part[k].count);
      sums[kWeight] += f, sums[kWeightE] += f * e, sums[kWeightEE] += f * e * e;
      if (part[k].count < weighting.x_max) continue;
      sums[kFrequent] += 1, sums[kP] += p, sums[kL] += l, sums[kPP] += p * p, sums[kLL] += l * l, sums[kPL] += p * l;
    }
  });
  ranks.sum(sums);
  GloveFit fit{
      .evaluation = {.tokens = scored, .nats = sums[kWeightEE] - sums[kWeightE] * sums[kWeightE] / sums[kWeight]},
      .frequent = static_cast<std::int64_t>(sums[kFrequent])};
  if (sums[kFrequent] >= kLeastFrequent) fit.evaluation.metrics = {{"correlation", fitted_correlation(sums)}};
  return fit;
}

GloveObjective::GloveObjective(const ResolvedConfig& config, LanguageData data)
    : TextObjectiveOf(config, std::move(data), make_glove_model), weighting_(glove_weighting(config)) {
  const std::int64_t window = config.model.options.integer("window");
  train_ = count_cooccurrences(data_.train.view(), model_->vocab(), window);
  micro_step_size_.tokens = micro_step_size_.targets = config.train.batch * config.block_size();
  loss_description_ = str_cat("the loss is the ", task().loss_unit, ", of ", train_.size(), " pairs of tokens at most ",
                              window, " from each other");
  if (!data_.valid) return;
  valid_ = count_cooccurrences(data_.valid->view(), model_->vocab(), window);
}

Variable GloveObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  std::vector<Cooccurrence> pairs;
  for (std::int64_t row = 0; row < config_.train.batch; ++row) {
    RandomStream random(training_row_key(static_cast<std::uint64_t>(config_.train.seed),
                                         static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step),
                                         config_.train.batch, row, kGloveRowStream));
    for (std::int64_t i = 0; i < config_.block_size(); ++i) pairs.push_back(train_[random.below(train_.size())]);
  }
  return model_->loss(tape, pairs, weighting_, mean.normalizer());
}

Evaluation GloveObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, valid_, weighting_, micro_step_size_.targets, config_.eval.batches, progress,
                              ranks())
      .evaluation;
}

}  // namespace tapeformer
