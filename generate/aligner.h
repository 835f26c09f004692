// Which source tokens a model looks at while it writes a translation.
#pragma once

#include <optional>
#include <vector>

#include "nn/interfaces/sequence_to_sequence.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// Whose attention weights are read; what is not given is averaged over.
struct AlignmentHeads {
  std::optional<std::int64_t> layer = {}, head = {};  // of the decoder's cross-attention, from 0
};

// The weights of a forward pass over a source and its translation (ids without begin and end): a row for each target
// token and for the end behind them, with a weight for each source token and for the end behind them. A row sums to 1.
// Throws UsageError for a layer or head that the model does not have, and for a model that has no attention.
std::vector<std::vector<double>> align(const SequenceToSequence& model, std::span<const std::int32_t> source,
                                       std::span<const std::int32_t> target, const PairSymbols& symbols,
                                       const AlignmentHeads& heads = {});

}  // namespace tapeformer
