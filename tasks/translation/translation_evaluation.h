// Measures how well an encoder-decoder predicts given translations.
#pragma once

#include "data/parallel/pair_batcher.h"
#include "nn/interfaces/sequence_to_sequence.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer {

// A batch of sentence pairs as values on a tape.
struct PairTensors {
  SourceBatch source;
  Variable inputs, targets;

  PairTensors(Tape& tape, const PairBatch& batch);
};

// Sums −ln P(target token | source, earlier target tokens) over all targets, each with its end. With max_batches above
// 0, only so many batches are scored, taken evenly from short to long sentences.
// Ranks share the batches, and all return the whole.
Evaluation evaluate(const SequenceToSequence& model, const TokenPairs& pairs, const PairSymbols& symbols,
                    const PairBatchOptions& batches, std::int64_t max_batches = 0,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// Visits the scores of every token of a target, and of its end.
void score_tokens(const SequenceToSequence& model, std::span<const std::int32_t> source,
                  std::span<const std::int32_t> target, const PairSymbols& symbols, std::int64_t top,
                  const ScoreVisitor& visit);

}  // namespace tapeformer
