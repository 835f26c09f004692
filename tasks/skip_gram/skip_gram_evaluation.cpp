#include "tasks/skip_gram/skip_gram_evaluation.h"

#include "autograd/tape/tape.h"

namespace tapeformer {

SkipGramOptions skip_gram_options(const ResolvedConfig& config, std::int64_t batch) {
  const KeyValues& model = config.model.options;
  return {.cbow = model.text("architecture") == "cbow",
          .batch = batch,
          .row = config.block_size(),
          .window = model.integer("window"),
          .negatives = model.integer("negatives"),
          .negative_power = model.number("negative_power"),
          .seed = static_cast<std::uint64_t>(config.train.seed)};
}

SkipGramPairs skip_gram_pairs(Tape& tape, const SkipGramBatch& batch, const SkipGramOptions& options) {
  const Dims inputs{batch.centers, options.inputs()},
      outputs{batch.centers, options.predictions(), 1 + options.negatives};
  return {Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch.inputs), inputs)),
          Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch.outputs), outputs))};
}

Evaluation evaluate(const SkipGramModel& model, const SkipGramBatcher& pairs, std::int64_t max_batches,
                    const ProgressCallback& progress, Communicator& ranks) {
  Evaluation total;
  SkipGramBatch batch;
  for_own_batches(scored_batches(pairs.batches(), max_batches), ranks, progress, [&](std::int64_t i) {
    pairs.fill(i, batch);
    Tape tape(no_grad);
    total.nats += model.loss(skip_gram_pairs(tape, batch, pairs.options()), 1).value().item();
    total.tokens += batch.centers * pairs.options().predictions();
  });
  add_over_ranks(total, ranks);
  return total;
}

}  // namespace tapeformer
