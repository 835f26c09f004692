// Word alignments: the source tokens to which a model attends while it writes a translation.
#pragma once

#include <optional>
#include <vector>

#include "nn/interfaces/encoder_decoder.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// The layer and the head of the decoder's cross-attention whose weights are read, counted from 0. If the layer is not
// given, the weights are averaged over all layers; likewise for the head.
struct AlignmentHeads {
  std::optional<std::int64_t> layer = {}, head = {};
};

// Returns the attention weights of a forward pass over a source and its translation (ids without begin and end). There
// is a row for each target token and one for the end token; each row has a weight for each source token and one for the
// end token, and sums to 1. Throws UsageError for a layer or head that the model does not have, and for a model without
// attention.
std::vector<std::vector<double>> align(const EncoderDecoder& model, std::span<const std::int32_t> source,
                                       std::span<const std::int32_t> target, const PairSymbols& symbols,
                                       const AlignmentHeads& heads = {});

// Returns the same for one source of any kind, such as an image, and the inputs (1, T) of the decoder: the begin token
// and the target's ids. There is a row for each input, whose weights are those with which the next token is predicted.
std::vector<std::vector<double>> align(const EncoderDecoder& model, const SourceBatch& source, const Tensor& inputs,
                                       const AlignmentHeads& heads = {});

}  // namespace tapeformer
