#include "tasks/text/text_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops/activations.h"
#include "autograd/tape/tape.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {
namespace {

// How a recurrent model reads a text.
constexpr std::int64_t kRow = 128;     // tokens in one forward pass; results do not depend on it
constexpr std::int64_t kWarmUp = 256;  // tokens before a stream that are read, but not scored, to build up its state

StreamBatcher streams_of(TokenView tokens, std::int64_t streams) {
  return StreamBatcher::every_token(tokens, streams, kRow, kWarmUp);
}

Tensor window_tensor(const std::vector<std::int32_t>& ids, const TextBatch& batch) {
  return Tensor::from(std::span<const std::int32_t>(ids), {batch.rows, batch.length});
}

// Calls score(batch, state) for each batch of the text: windows, with a null state; or, for a recurrent model, rows in
// order, with the recurrent state after the rows before. Ranks share the batches of windows, or the rows, which are
// streams.
template <class Score>
void for_text(const CausalModel& model, TokenView tokens, const WindowOptions& options,
              const ProgressCallback& progress, const Communicator& ranks, const Score& score) {
  if (!reads_in_order(model)) {
    WindowOptions windows = options;
    windows.context = window_context(model, options.context);
    check_stride(windows.stride, windows.context);
    // Windows need not be longer than the text: the padding would only take time and memory.
    if (const auto most = model.context(); most && windows.context > *most) {
      windows.context = std::max(*most, std::min<std::int64_t>(windows.context, tokens.size() - 1));
      windows.stride = std::min(windows.stride, windows.context);
    }
    return for_windows(
        tokens, windows, {}, progress,
        [&](const TextBatch& batch) { score(batch, static_cast<RecurrentState*>(nullptr)); }, ranks);
  }
  RecurrentState state;
  const StreamBatcher streams = streams_of(tokens, options.batch);
  // The first batches only warm up the later streams, if there are any.
  const std::int64_t warm_up = streams.streams() > 1 ? kWarmUp / kRow : 0;
  const std::int64_t most = options.max_batches > 0 ? options.max_batches + warm_up : 0;
  const Communicator::Share rows = ranks.share(streams.streams());
  const std::int64_t batches = rows.size() > 0 ? scored_batches(streams.batches(), most) : 0;
  TextBatch batch;
  for (std::int64_t i = 0; i < batches; ++i) {
    streams.fill(i, rows.begin, rows.size(), batch);
    score(batch, &state);
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(batches));
  }
}

// Finds the rank of a token among all tokens, and the most probable tokens; of equally probable ones the lower id comes
// first.
void rank_token(std::span<const double> log_p, std::int32_t token, std::int64_t top, TokenScore& score) {
  const auto before = [&](std::int32_t a, std::int32_t b) {
    return log_p[a] > log_p[b] || (log_p[a] == log_p[b] && a < b);
  };
  std::vector<std::int32_t> ids(log_p.size());
  std::iota(ids.begin(), ids.end(), 0);
  score.rank = 1 + std::ranges::count_if(ids, [&](std::int32_t id) { return before(id, token); });
  const auto middle = ids.begin() + std::min<std::int64_t>(top, std::ssize(ids));
  std::partial_sort(ids.begin(), middle, ids.end(), before);
  for (auto id = ids.begin(); id != middle; ++id) score.likeliest.emplace_back(*id, std::exp(log_p[*id]));
}

}  // namespace

bool reads_in_order(const CausalModel& model) { return model.recurrent() != nullptr; }

std::int64_t stream_count(TokenView tokens, std::int64_t batch) { return streams_of(tokens, batch).streams(); }

std::int64_t window_context(std::optional<std::int64_t> most, std::int64_t wanted) {
  const std::int64_t context = wanted ? wanted : most.value_or(kUnlimitedWindow);
  if (context < 1) fail_usage("--context: expected at least 1, got ", context);
  if (most && context > *most) fail_usage("--context: expected 1 to ", *most, " (the model's), got ", context);
  return context;
}

std::int64_t window_context(const CausalModel& model, std::int64_t wanted) {
  return wanted && model.can_exceed_context() ? window_context(std::nullopt, wanted)
                                              : window_context(model.context(), wanted);
}

void check_stride(std::int64_t stride, std::int64_t context) {
  if (stride < 0 || stride > context) fail_usage("--stride: expected 1 to ", context, " (the context), got ", stride);
}

void for_windows(TokenView tokens, const WindowOptions& options, std::optional<std::int64_t> most,
                 const ProgressCallback& progress, const std::function<void(const TextBatch&)>& score,
                 const Communicator& ranks) {
  const std::int64_t context = window_context(most, options.context);
  const std::int64_t stride = options.stride ? options.stride : context;
  check_stride(stride, context);
  const std::int64_t windows = WindowBatcher(tokens, 1, context, stride).windows();
  const std::int64_t rows = std::min(options.batch, windows);  // more rows would only be padding
  const WindowBatcher batcher(tokens, rows, context, stride);
  TextBatch batch;
  for_own_batches(scored_batches(batcher.batches(), options.max_batches), ranks, progress, [&](std::int64_t i) {
    batcher.fill(i, batch);
    score(batch);
  });
}

Evaluation evaluate(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress, Communicator& ranks) {
  Evaluation total;
  const auto* const recurrent = model.recurrent();
  for_text(model, tokens, options, progress, ranks, [&](const TextBatch& batch, RecurrentState* state) {
    Tape tape(no_grad);
    const Variable ids = Variable::constant(tape, window_tensor(batch.inputs, batch));
    const Variable targets = Variable::constant(tape, window_tensor(batch.targets, batch));
    const CrossEntropyOptions sum{.normalizer = 1};
    const Variable loss = state ? recurrent->loss(ids, targets, sum, *state) : model.loss(ids, targets, sum);
    total.nats += loss.value().item();
    total.tokens += batch.scored;
  });
  add_over_ranks(total, ranks);
  return total;
}

void for_scored_batches(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                        const ProgressCallback& progress, const BatchVisitor& visit) {
  for_text(model, tokens, options, progress, Communicator::alone(),
           [&](const TextBatch& batch, RecurrentState* state) { visit(batch, state != nullptr); });
}

void score_tokens(const Variable& hidden, std::span<const std::int32_t> targets,
                  const std::function<Variable(const Variable&)>& logits, std::int64_t top, const ScoreVisitor& visit) {
  constexpr std::int64_t kRows = 64;  // rows of logits at a time
  const auto rows = static_cast<std::int64_t>(targets.size());
  for (std::int64_t begin = 0; begin < rows; begin += kRows) {
    const std::int64_t end = std::min(rows, begin + kRows);
    const Tensor part = hidden.value().reshape({rows, -1}).slice(0, begin, end);
    const Tensor log_p = log_softmax(logits(Variable::constant(*hidden.tape(), part))).value().to(DType::f64);
    for (std::int64_t i = begin; i < end; ++i) {
      if (targets[i] == kIgnoredTarget) continue;
      const auto row = log_p.span<double>().subspan((i - begin) * log_p.size(1), log_p.size(1));
      // 0 − ln P, since −ln P of a sure token is −0, which would be printed so.
      TokenScore score{.nats = 0 - row[targets[i]], .token = targets[i], .position = i + 1};
      check(std::isfinite(score.nats), "the model's predictions are not finite numbers");
      if (top > 0) rank_token(row, targets[i], top, score);
      visit(score);
    }
  }
}

void score_tokens_of_batches(const CausalModel& model, TokenView tokens, const WindowOptions& options, std::int64_t top,
                             const ScoreVisitor& visit) {
  for_text(model, tokens, options, {}, Communicator::alone(), [&](const TextBatch& batch, RecurrentState* state) {
    Tape tape(no_grad);
    const Variable hidden = model.forward(Variable::constant(tape, window_tensor(batch.inputs, batch)), state);
    score_tokens(
        hidden, batch.targets, [&](const Variable& rows) { return model.logits(rows); }, top,
        [&](TokenScore score) {
          score.position = state ? 0 : (score.position - 1) % batch.length + 1;
          visit(score);
        });
  });
}

void score_tokens(const CausalModel& model, TokenView tokens, const WindowOptions& options, std::int64_t top,
                  const ScoreVisitor& visit) {
  WindowOptions in_order = options;
  if (reads_in_order(model)) in_order.batch = 1;
  score_tokens_of_batches(model, tokens, in_order, top, visit);
}

std::vector<double> surprisals(const CausalModel& model, TokenView tokens, const WindowOptions& options) {
  std::vector<double> values;
  score_tokens(model, tokens, options, 0, [&](const TokenScore& score) { values.push_back(score.nats); });
  return values;
}

}  // namespace tapeformer
