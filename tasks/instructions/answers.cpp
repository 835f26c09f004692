#include "tasks/instructions/answers.h"

#include <algorithm>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/tape/tape.h"
#include "core/shuffle.h"
#include "generate/sample_rows.h"

namespace tapeformer {
namespace {

// Decodes prompts of the same length.
void decode_answers(const CausalModel& model, const ChatFormat& format, std::span<const AnswerPrompt> prompts,
                    std::span<const std::int64_t> chosen, const std::function<bool()>& go_on,
                    std::vector<std::string>& out) {
  std::vector<RowStart> starts;
  std::vector<AnswerText> answers;
  for (const std::int64_t i : chosen) {
    const std::span<const std::int32_t> ids = prompts[i].ids;
    starts.push_back({{ids.begin(), ids.end()}, prompts[i].tokens, "eval"});
    answers.emplace_back(format);
  }
  const kernels::BatchInvariant batch_invariant;
  SampledRows strategy(starts, std::vector<RandomKey>(starts.size()), {.end = format.end_token()}, {.temperature = 0},
                       [&](std::size_t row, std::int32_t token, std::span<const float>) {
                         if (token == format.text_end()) return false;  // another text is no part of the answer
                         return answers[row].push(token) && (!go_on || go_on());
                       });
  CausalDecoder decoder(model, true, model.context());
  decode(decoder, strategy);
  for (std::size_t i = 0; i < chosen.size(); ++i) out[chosen[i]] = answers[i].text();
}

}  // namespace

Variable answers_loss(const CausalModel& model, Tape& tape, const ConversationBatch& batch,
                      const CrossEntropyOptions& options) {
  const Dims sizes{batch.rows, batch.length};
  const auto matrix = [&](const std::vector<std::int32_t>& values) {
    return Tensor::from(std::span<const std::int32_t>(values), sizes);
  };
  const Variable ids = Variable::constant(tape, matrix(batch.inputs));
  const Variable targets = Variable::constant(tape, matrix(batch.targets));
  if (!batch.packs) return model.loss(ids, targets, options);
  const Tensor lengths = Tensor::from(std::span<const std::int32_t>(batch.lengths), {batch.rows});
  return model.packed_loss(ids, {matrix(batch.first_tokens), lengths}, targets, options);
}

Evaluation evaluate_answers(const CausalModel& model, const ConversationBatcher& batcher, std::int64_t max_batches,
                            const ProgressCallback& progress, Communicator& ranks) {
  Evaluation total;
  ConversationBatch batch;
  for_own_batches(scored_batches(batcher.batches(), max_batches), ranks, progress, [&](std::int64_t i) {
    batcher.fill(i, batch);
    Tape tape(no_grad);
    total.nats += answers_loss(model, tape, batch, {.normalizer = 1}).value().item();
    total.tokens += batch.scored;
  });
  add_over_ranks(total, ranks);
  return total;
}

std::vector<std::string> greedy_answers(const CausalModel& model, const ChatFormat& format,
                                        std::span<const AnswerPrompt> prompts, std::int64_t batch,
                                        const ProgressCallback& progress, const std::function<bool()>& go_on) {
  std::vector<std::string> answers(prompts.size());
  std::vector<std::int64_t> order = arange(std::ssize(prompts));
  const auto length = [&](std::int64_t i) { return prompts[i].ids.size(); };
  std::ranges::stable_sort(order, {}, length);
  for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
    end = begin;
    while (end < order.size() && length(order[end]) == length(order[begin]) &&
           end - begin < static_cast<std::size_t>(batch))
      ++end;
    decode_answers(model, format, prompts, std::span(order).subspan(begin, end - begin), go_on, answers);
    if (progress) progress(static_cast<double>(end) / static_cast<double>(order.size()));
  }
  return answers;
}

}  // namespace tapeformer
