// Draws the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/random.h"

namespace tapeformer {

struct SamplingOptions {
  double temperature = 1;  // divides the logits; 0: always the likeliest token (greedy)
  std::int64_t top_k = 0;  // only the k likeliest tokens; 0: all
  double top_p = 1;        // only the likeliest tokens that together reach this probability (Holtzman et al. 2020)
};

// Throws UsageError, which names the option of the command line, unless temperature >= 0, top_k >= 0 and
// 0 < top_p <= 1.
void check_options(const SamplingOptions& options);

// Draws a token from softmax(logits / temperature), restricted by top_k, then by top_p. Of equal logits the lower id
// comes first, so the result is a pure function of logits, options and key. A token with the logit minus infinity is
// never drawn. Throws Error, which begins with `name`, if a logit is NaN or plus infinity, or if all are minus
// infinity.
std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options, const RandomKey& key,
                          std::string_view name = "generate");

}  // namespace tapeformer
