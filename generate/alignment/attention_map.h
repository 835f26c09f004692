// The attention weights of a model in one forward pass over a text.
#pragma once

#include <string>
#include <vector>

#include "nn/interfaces/causal_model.h"
#include "nn/interfaces/encoder_decoder.h"
#include "nn/interfaces/model.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// The attention weights of all layers of an encoder or decoder, from each of T queries to S keys.
struct AttentionMap {
  std::string name;             // "self"; for an encoder-decoder "encoder", "decoder" or "cross"
  std::vector<Tensor> weights;  // (heads, T, S) f64 for each layer; the weights of a query sum to 1
  std::vector<Tensor> outputs;  // (heads, T) f64 for each layer: the norm of what a head adds to the residual stream;
                                // empty for recurrent decoders, which have no such heads
};

// Return the attention of a forward pass over these tokens. Each throws UsageError for a model without attention.
AttentionMap attention_of(const CausalModel& model, std::span<const std::int32_t> ids);
AttentionMap attention_of(const Model& model, std::span<const std::int32_t> ids);
// The keys of "encoder" and "cross" are the source's tokens and its end token. The queries of "decoder" and "cross" are
// the begin token and the target's tokens: at each one the model predicts the next token. Maps that the model does not
// have are left out.
std::vector<AttentionMap> attention_of(const EncoderDecoder& model, std::span<const std::int32_t> source,
                                       std::span<const std::int32_t> target, const PairSymbols& symbols);

}  // namespace tapeformer
