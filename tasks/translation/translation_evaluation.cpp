#include "tasks/translation/translation_evaluation.h"

#include <algorithm>

#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

Tensor ids_tensor(const std::vector<std::int32_t>& ids, const Dims& sizes) {
  return Tensor::from(std::span<const std::int32_t>(ids), sizes);
}

}  // namespace

PairTensors::PairTensors(Tape& tape, const PairBatch& batch)
    : source{ids_tensor(batch.source, {batch.rows, batch.source_length}),
             ids_tensor(batch.source_lengths, {batch.rows})},
      inputs(Variable::constant(tape, ids_tensor(batch.inputs, {batch.rows, batch.target_length}))),
      targets(Variable::constant(tape, ids_tensor(batch.targets, {batch.rows, batch.target_length}))) {}

Evaluation evaluate_pairs(const TokenPairs& pairs, const PairSymbols& symbols, const PairBatchOptions& options,
                          std::int64_t max_batches, const ProgressCallback& progress, Communicator& ranks,
                          const std::function<Variable(Tape&, const PairBatch&)>& sum_of) {
  PairBatchOptions sizes = options;
  // More sentences would only be padding.
  sizes.sentences = std::min(sizes.sentences, std::max<std::int64_t>(pairs.size(), 1));
  const LengthBuckets batches(pairs, symbols, sizes);
  const std::int64_t count = scored_batches(batches.batches(), max_batches);
  Evaluation total;
  PairBatch batch;
  for_own_batches(count, ranks, progress, [&](std::int64_t i) {
    batches.fill(i * batches.batches() / count, batch);
    Tape tape(no_grad);
    total.nats += sum_of(tape, batch).value().item();
    total.tokens += batch.scored;
  });
  add_over_ranks(total, ranks);
  return total;
}

Evaluation evaluate(const EncoderDecoder& model, const TokenPairs& pairs, const PairSymbols& symbols,
                    const PairBatchOptions& options, std::int64_t max_batches, const ProgressCallback& progress,
                    Communicator& ranks) {
  return evaluate_pairs(pairs, symbols, options, max_batches, progress, ranks, [&](Tape& tape, const PairBatch& batch) {
    const PairTensors tensors(tape, batch);
    return model.loss(tensors.source, tensors.inputs, tensors.targets, {.normalizer = 1});
  });
}

void score_tokens(const EncoderDecoder& model, std::span<const std::int32_t> source,
                  std::span<const std::int32_t> target, const PairSymbols& symbols, std::int64_t top,
                  const ScoreVisitor& visit) {
  TokenPairs pair;
  pair.add(source, target, 0);
  PairBatch batch;
  LengthBuckets(pair, symbols, {}).fill(0, batch);
  Tape tape(no_grad);
  const PairTensors tensors(tape, batch);
  const Variable hidden = model.decode(tensors.inputs, model.encode(tape, tensors.source));
  score_tokens(
      hidden, batch.targets, [&](const Variable& rows) { return model.logits(rows); }, top, visit);
}

}  // namespace tapeformer
