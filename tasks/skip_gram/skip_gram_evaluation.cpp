#include "tasks/skip_gram/skip_gram_evaluation.h"

#include <algorithm>

#include "autograd/tape/tape.h"

namespace tapeformer {

SkipGramOptions skip_gram_options(const ResolvedConfig& config, const SkipGramModel& model, std::int64_t batch) {
  return {.batch = batch,
          .row = config.block_size(),
          .window = model.window(),
          .negatives = model.negatives(),
          .negative_power = model.negative_power(),
          .seed = static_cast<std::uint64_t>(config.train.seed)};
}

SkipGramPairs skip_gram_pairs(Tape& tape, const SkipGramBatch& batch, const SkipGramModel& model) {
  const std::int64_t centers = std::ssize(batch.centers);
  const Dims sizes{centers, 2 * model.window(), 1 + model.negatives()};
  return {Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch.centers), {centers})),
          Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch.outputs), sizes))};
}

Evaluation evaluate(const SkipGramModel& model, const SkipGramBatcher& pairs, std::int64_t max_batches,
                    const ProgressCallback& progress, Communicator& ranks) {
  const Communicator::Share mine =
      ranks.share(max_batches > 0 ? std::min(max_batches, pairs.batches()) : pairs.batches());
  Evaluation total;
  SkipGramBatch batch;
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    pairs.fill(i, batch);
    Tape tape(no_grad);
    total.nats += model.loss(skip_gram_pairs(tape, batch, model), 1).value().item();
    total.tokens += std::ssize(batch.centers) * 2 * model.window();
    if (progress) progress(static_cast<double>(i + 1 - mine.begin) / static_cast<double>(mine.size()));
  }
  add_over_ranks(total, ranks);
  return total;
}

}  // namespace tapeformer
