// Evaluates how well an encoder-decoder predicts given translations.
#pragma once

#include "data/parallel/pair_batcher.h"
#include "nn/interfaces/encoder_decoder.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer {

// A batch of sentence pairs on a tape.
struct PairTensors {
  SourceBatch source;
  Variable inputs, targets;  // i32 (rows, target length) each, as PairBatch has them

  PairTensors(Tape& tape, const PairBatch& batch);
};

// Sums over batches of all pairs what sum_of(tape, batch) returns: the loss of a batch, summed over its targets. With
// max_batches above 0, only that many batches are scored, chosen evenly from short to long targets. Ranks share the
// batches, and all return the whole result.
Evaluation evaluate_pairs(const TokenPairs& pairs, const PairSymbols& symbols, const PairBatchOptions& batches,
                          std::int64_t max_batches, const ProgressCallback& progress, Communicator& ranks,
                          const std::function<Variable(Tape&, const PairBatch&)>& sum_of);
// Sums −ln P(target token | source, earlier target tokens) over all tokens of all targets, including the end of each
// sentence, by evaluate_pairs().
Evaluation evaluate(const EncoderDecoder& model, const TokenPairs& pairs, const PairSymbols& symbols,
                    const PairBatchOptions& batches, std::int64_t max_batches = 0,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// Visits the score of every token of a target, including its end.
void score_tokens(const EncoderDecoder& model, std::span<const std::int32_t> source,
                  std::span<const std::int32_t> target, const PairSymbols& symbols, std::int64_t top,
                  const ScoreVisitor& visit);

}  // namespace tapeformer
