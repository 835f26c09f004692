#include "tasks/bidirectional_language_model/bidirectional_evaluation.h"

#include <algorithm>

#include "autograd/tape/tape.h"

namespace tapeformer {

Batch text_rows(Tape& tape, const TextBatch& batch) {
  const std::int64_t length = batch.length + 1;
  std::vector<std::int32_t> ids(batch.rows * length, 0), lengths(batch.rows, 1);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    ids[row * length] = batch.inputs[row * batch.length];
    for (std::int64_t t = 0; t < batch.length; ++t) {
      const std::int32_t target = batch.targets[row * batch.length + t];
      if (target == kIgnoredTarget) break;
      ids[row * length + t + 1] = target;
      ++lengths[row];
    }
  }
  const bool full = batch.scored == batch.rows * batch.length;
  return {Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {batch.rows, length})),
          full ? Tensor() : Tensor::from(std::span<const std::int32_t>(lengths), {batch.rows})};
}

Evaluation evaluate(const BidirectionalLanguageModel& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress, Communicator& ranks) {
  const std::int64_t context = window_context(model.context(), options.context);
  if (options.stride != 0 && options.stride != context) {
    fail_usage("--stride: expected 0 or ", context,
               " (the context), since the windows of a text encoder do not overlap, got ", options.stride);
  }
  Evaluation total;
  for (const std::string_view name : BidirectionalLanguageModel::kPredictions) {
    total.parts.push_back({std::string(name), 0});
  }
  const auto count = static_cast<double>(total.parts.size());
  const auto score = [&](const TextBatch& batch) {
    Tape tape(no_grad);
    const auto predictions = model.predictions(text_rows(tape, batch));
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const Variable loss = model.loss(predictions[i].features, predictions[i].targets, {.normalizer = 1});
      total.parts[i].nats += loss.value().item();
    }
    const Tensor targets = predictions.front().targets;
    total.tokens += targets.numel() - std::ranges::count(targets.span<std::int32_t>(), kIgnoredTarget);
  };
  for_windows(tokens, options, model.context(), progress, score, ranks);
  add_over_ranks(total, ranks);
  for (const Evaluation::Part& part : total.parts) total.nats += part.nats / count;
  return total;
}

}  // namespace tapeformer
