// The attention of a model while it reads a text, from the forward pass itself.
#pragma once

#include <string>
#include <vector>

#include "nn/interfaces/language_model.h"
#include "nn/interfaces/sequence_to_sequence.h"
#include "nn/interfaces/text_encoder.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// The attention of the layers of a stack: from each of T queries to S keys.
struct AttentionMap {
  std::string name;             // "self", or of an encoder-decoder "encoder", "decoder", "cross"
  std::vector<Tensor> weights;  // (heads, T, S) f64 for each layer; the weights of a query sum to 1
  std::vector<Tensor> outputs;  // (heads, T) f64 for each layer: the norm of what a head adds to the residual stream;
                                // none where the heads have no share of their own in it (recurrent decoders)
};

// Each throws UsageError for a model that has no attention.
AttentionMap attention_of(const LanguageModel& model, std::span<const std::int32_t> ids);
AttentionMap attention_of(const TextEncoder& model, std::span<const std::int32_t> ids);
// The keys of "encoder" and "cross" are the source's tokens and its end. The queries of "decoder" and "cross" are the
// beginning of a sentence and the target's tokens: each stands where the token after it is predicted. What the model
// does not have is left out.
std::vector<AttentionMap> attention_of(const SequenceToSequence& model, std::span<const std::int32_t> source,
                                       std::span<const std::int32_t> target, const PairSymbols& symbols);

}  // namespace tapeformer
