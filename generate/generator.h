// Text generation with a language model, one token at a time.
#pragma once

#include <functional>
#include <vector>

#include "generate/sampler.h"
#include "nn/interfaces/causal_model.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t tokens = 200;
  std::uint64_t seed = 1;
  std::int32_t stop_token = -1;  // generation ends before this token; -1: none
  // false: a full forward pass for every token, which is slower. The tokens are the same, except where rounding changes
  // the order of two tokens of nearly equal probability.
  bool use_cache = true;
};

// Returns the tokens of a prompt, with the document token first if the model has one.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const CausalModel& model, std::string_view prompt);

// Returns the last part of `prompt`, which the model sees: at most its context, and only the last document if the model
// has a document token.
std::span<const std::int32_t> seen_part(const CausalModel& model, std::span<const std::int32_t> prompt);

// Continues the seen part of a prompt, which needs at least one token (Error otherwise). Calls on_token with each new
// token as soon as it is known; generation ends if on_token returns false. After a document token that the model
// generates itself, it sees nothing before that token. When the context is full, the older half is dropped and
// generation continues from the newer half, with the cache and without; a model without a limit drops nothing. Token i
// is drawn with the key (seed, step = i).
std::vector<std::int32_t> generate(const CausalModel& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token = {});

}  // namespace tapeformer
