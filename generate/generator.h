// Text generation with a language model: by sampling, or by a beam search.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "generate/beam_search.h"
#include "generate/sampler.h"
#include "nn/interfaces/causal_model.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t tokens = 200;
  std::uint64_t seed = 1;
  std::int32_t stop_token = -1;  // generation ends before this token; -1: none
  std::int64_t context = 0;      // the number of tokens that the model sees at most (seen_context())
  // false: a full forward pass for every token, which is slower. The tokens are the same, except where rounding changes
  // the order of two tokens of nearly equal probability.
  bool use_cache = true;
};

// Returns the document token, if the model has one, then `prefix`, then the tokens of the prompt.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const CausalModel& model, std::string_view prompt,
                                        std::span<const std::int32_t> prefix = {});

// Returns the number of tokens that the model sees at most: `wanted`, or its context if that is 0; nullopt: no limit.
// Throws UsageError for more than the context if the model cannot exceed it, and for a model without a context.
std::optional<std::int64_t> seen_context(const CausalModel& model, std::int64_t wanted);

// Returns the last part of `prompt`, which the model sees: at most seen_context(model, context) tokens, and only the
// last document if the model has a document token.
std::span<const std::int32_t> seen_part(const CausalModel& model, std::span<const std::int32_t> prompt,
                                        std::int64_t context = 0);

// Continues the seen part of a prompt by sampling. Throws Error for a prompt without tokens. Calls on_token with each
// new token as soon as it is known; generation ends if on_token returns false. The comment on CausalDecoder says how
// much of a long text the model sees. Token i is drawn with the key (seed, step = i).
std::vector<std::int32_t> generate(const CausalModel& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token = {});

// Continues `row`, whose first tokens the decoder may have read already, as those of a conversation. The row and the
// new tokens together must not be longer than the decoder's context, or else the decoder drops the older half.
std::vector<std::int32_t> generate(CausalDecoder& decoder, std::span<const std::int32_t> row,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token = {});

struct TextSearchOptions {
  BeamOptions search = {};
  std::int64_t tokens = 200;     // a text that has not reached the stop token is cut after so many tokens
  std::int32_t stop_token = -1;  // ends a text; -1: the model's document token, if it has one
  std::int64_t context = 0;      // the number of tokens that the model sees at most (seen_context())
  bool use_cache = true;         // false: a full forward pass for every token (same texts, slower)
};

// Returns the best continuations of the seen part of a prompt by a beam search, best first. Throws Error for a prompt
// without tokens, and UsageError for options out of range.
std::vector<Hypothesis> search_texts(const CausalModel& model, std::span<const std::int32_t> prompt,
                                     const TextSearchOptions& options);

}  // namespace tapeformer
