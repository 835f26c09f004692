// How well an encoder-decoder predicts translations, and how good its own are.
#pragma once

#include "data/parallel/pair_batcher.h"
#include "nn/sequence_to_sequence.h"
#include "train/evaluation.h"

namespace tapeformer {

// A batch on a tape.
struct PairTensors {
  SourceBatch source;
  Variable inputs, targets;

  PairTensors(Tape& tape, const PairBatch& batch);
};

// Σ −ln P(target token | source, the target before it) over the targets with their ends; unless 0, of max_batches
// batches alone, of short sentences and long ones in equal parts.
Evaluation evaluate(const SequenceToSequence& model, const TokenPairs& pairs, const PairSymbols& symbols,
                    const PairBatchOptions& batches, std::int64_t max_batches = 0,
                    const ProgressCallback& progress = {});

// −ln P of every token of a target and of its end.
std::vector<double> surprisals(const SequenceToSequence& model, std::span<const std::int32_t> source,
                               std::span<const std::int32_t> target, const PairSymbols& symbols);

}  // namespace tapeformer
