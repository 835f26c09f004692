// Text generation with a language model, one token at a time.
#pragma once

#include <functional>
#include <vector>

#include "generate/sampler.h"
#include "nn/interfaces/language_model.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t tokens = 200;
  std::uint64_t seed = 1;
  std::int32_t stop_token = -1;  // generation ends before this token; -1: none
  // Off: a full forward pass for every token, which is slower. The same tokens, but for rounding: sums in another order
  // may change a token that was nearly as likely as another one.
  bool use_cache = true;
};

// The tokens of a prompt; a model that keeps to documents begins with its document token.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const LanguageModel& model,
                                        std::string_view prompt);

// A view of the end of `prompt` that the model sees: as many tokens as its context takes, and for a model that keeps to
// documents the last document only.
std::span<const std::int32_t> seen_part(const LanguageModel& model, std::span<const std::int32_t> prompt);

// Continues the seen part of a prompt of at least one token (Error otherwise), and calls on_token with each new token
// as soon as it is known; generation ends when that returns false. A model that keeps to documents sees nothing before
// a document that it begins itself. When the context is full, the older half is dropped and generation goes on from the
// younger half: the same rule with the cache and without. A model without a limit never drops anything. Token i is
// drawn with the key (seed, step = i).
std::vector<std::int32_t> generate(const LanguageModel& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token = {});

}  // namespace tapeformer
