// What a model would predict if it ended after each of its layers (the logit lens, nostalgebraist 2020).
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "nn/interfaces/causal_model.h"
#include "nn/interfaces/encoder_decoder.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// A prediction at one position.
struct LensPrediction {
  std::vector<std::pair<std::int32_t, double>> likeliest;  // the most probable tokens with P, in order
  std::optional<double> nats;  // −ln P of the token that the text has there; nullopt after its end
};

// The predictions of every layer at every position: softmax(head(norm(x))) of the residual stream x, with the model's
// final norm and head. The first element is the input of the layers; the last one is what the model itself predicts.
using LogitLens = std::vector<std::vector<LensPrediction>>;

// Each returns the `top` most probable tokens at each position, and throws UsageError for a model that is no stack of
// blocks. A causal model predicts the token after each position, a masked language model predicts the token at the
// position itself.
LogitLens logit_lens(const CausalModel& model, std::span<const std::int32_t> ids, std::int64_t top);
LogitLens logit_lens(const MaskedLanguageModel& model, std::span<const std::int32_t> ids, std::int64_t top);
// The layers of the decoder, which predicts the target's tokens and its end. Its positions are the begin token and the
// target's tokens.
LogitLens logit_lens(const EncoderDecoder& model, std::span<const std::int32_t> source,
                     std::span<const std::int32_t> target, const PairSymbols& symbols, std::int64_t top);

}  // namespace tapeformer
