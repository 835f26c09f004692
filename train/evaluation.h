// How well a language model predicts a text.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/progress.h"
#include "data/text/batcher.h"
#include "nn/models/gpt.h"

namespace tapeformer {

// The measure of a text: never smoothed, every scored token counted once.
struct Evaluation {
  std::int64_t tokens = 0;  // that were scored
  // Σ −ln P(token | the tokens before it in its window, and in its document where the model keeps to documents)
  double nats = 0;

  double loss() const { return nats / static_cast<double>(tokens); }  // nats per token
  double perplexity() const;                                          // exp(loss)
  double bits_per_byte(std::int64_t bytes) const;                     // nats/(ln 2 · bytes)
};

struct WindowOptions {
  std::int64_t context = 0;      // tokens of a window; 0: the model's context
  std::int64_t stride = 0;       // between the beginnings of windows; 0: the context (windows do not overlap)
  std::int64_t batch = 16;       // windows at once
  std::int64_t max_batches = 0;  // only the first batches; 0: the whole text
};

// Scores the tokens by sliding windows (WindowBatcher): all but the first, which has nothing before it. Throws Error
// for fewer than two tokens, UsageError for a stride above the context.
Evaluation evaluate(const Gpt& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress = {});

// Appends −ln P of every target that is not ignored, given the rows of a model's stream, one for each target, on a
// no_grad tape; `logits` makes the model's logits of rows. Few logits are in memory at once.
void append_surprisals(const Variable& hidden, std::span<const std::int32_t> targets,
                       const std::function<Variable(const Variable&)>& logits, std::vector<double>& values);

// −ln P(token) of tokens 1 … n − 1, by the same windows.
std::vector<double> surprisals(const Gpt& model, TokenView tokens, const WindowOptions& options);

}  // namespace tapeformer
