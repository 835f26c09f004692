// Evaluates how well a language model predicts a text.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/progress.h"
#include "data/text/batcher.h"
#include "nn/interfaces/causal_model.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

struct WindowOptions {
  std::int64_t context = 0;      // tokens of a window; 0: the model's context, or 1024 where it has no limit
  std::int64_t stride = 0;       // tokens from one window's start to the next; 0: the context (no overlap)
  std::int64_t batch = 16;       // windows in one forward pass
  std::int64_t max_batches = 0;  // only the first batches are scored; 0: all
};

// Whether the model is recurrent. Such a model has no windows: it reads the text in order, cut into up to `batch`
// streams that are read side by side. Each stream but the first also reads the 256 tokens before it, without scoring
// them.
bool reads_in_order(const CausalModel& model);
// Returns the number of streams in which such a model reads the text: `batch`, or fewer if the text is so short that
// some would be empty. Throws Error for fewer than two tokens.
std::int64_t stream_count(TokenView tokens, std::int64_t batch);

// The number of tokens in a window: `wanted`, or if that is 0, the default of WindowOptions. `most` is the longest
// window that the model can read; nullopt: no limit. Throws UsageError for a longer one.
std::int64_t window_context(std::optional<std::int64_t> most, std::int64_t wanted);
// Returns window_context() for this model; a model that can exceed its context has no limit.
std::int64_t window_context(const CausalModel& model, std::int64_t wanted);
// Throws UsageError for a stride above the context; 0 is the context. Whatever reads windows does so too.
void check_stride(std::int64_t stride, std::int64_t context);
// Calls score(batch) for this rank's share of the batches of sliding windows over the tokens (WindowBatcher), for a
// model that reads at most `most` tokens. Throws Error for fewer than two tokens, UsageError for a stride above the
// context.
void for_windows(TokenView tokens, const WindowOptions& options, std::optional<std::int64_t> most,
                 const ProgressCallback& progress, const std::function<void(const TextBatch&)>& score,
                 const Communicator& ranks = Communicator::alone());

// Scores all tokens but the first, which has no context: by sliding windows (WindowBatcher), or in order
// (StreamBatcher) if reads_in_order(model). Ranks share the batches, or the streams, and all return the whole result.
// Throws Error for fewer than two tokens, UsageError for a stride above the context.
Evaluation evaluate(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// Visits the batches that evaluate() scores. `continues`: whether the rows of each batch go on where the rows of the
// batch before have ended, as for a recurrent model.
using BatchVisitor = std::function<void(const TextBatch&, bool continues)>;
void for_scored_batches(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                        const ProgressCallback& progress, const BatchVisitor& visit);

// The model's prediction of a token from the tokens before it.
struct TokenScore {
  double nats = 0;                                              // −ln P(token)
  std::int64_t rank = 1;                                        // 1 for the most probable token
  std::vector<std::pair<std::int32_t, double>> likeliest = {};  // the most probable tokens with P, in order
  std::int32_t token = 0;                                       // the token that is scored
  std::int64_t position = 0;  // the number of tokens before it in its window; 0 if the text is read in order
};
using ScoreVisitor = std::function<void(const TokenScore&)>;

// Visits the score of every target that is not ignored, with the `top` most probable tokens (0: none, and no rank).
// `hidden` has one row of the model's features for each target, on a no_grad tape; `logits` maps rows of features to
// logits; the targets are one window. Only a few rows of logits are in memory at a time.
void score_tokens(const Variable& hidden, std::span<const std::int32_t> targets,
                  const std::function<Variable(const Variable&)>& logits, std::int64_t top, const ScoreVisitor& visit);
// Visits the scores of tokens 1 … n − 1 as evaluate() reads them: those of a recurrent model stream by stream, a part
// of each at a time.
void score_tokens_of_batches(const CausalModel& model, TokenView tokens, const WindowOptions& options, std::int64_t top,
                             const ScoreVisitor& visit);
// Visits the scores of tokens 1 … n − 1, by windows as in evaluate(), or in order as one stream.
void score_tokens(const CausalModel& model, TokenView tokens, const WindowOptions& options, std::int64_t top,
                  const ScoreVisitor& visit);
// Returns TokenScore::nats of the tokens 1 … n − 1.
std::vector<double> surprisals(const CausalModel& model, TokenView tokens, const WindowOptions& options);

}  // namespace tapeformer
