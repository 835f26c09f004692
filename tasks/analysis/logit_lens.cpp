#include "tasks/analysis/logit_lens.h"

#include "autograd/tape/tape.h"
#include "core/error.h"
#include "generate/alignment/teacher_forcing.h"
#include "nn/blocks/block.h"
#include "tasks/analysis/encoded_words.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer {
namespace {

using Logits = std::function<Variable(const Variable& features)>;

// Collects the features after each layer.
struct LayerFeatures {
  std::vector<Tensor> layers;

  void operator()(std::string_view name, const std::function<Tensor()>& tensor) {
    if (name == kLayerFeatures) layers.push_back(tensor());
  }
};

// Returns what `logits` predicts from each layer. The targets (T) are the tokens that the text has at the
// predicted positions, kIgnoredTarget after its end.
LogitLens read_layers(const std::vector<Tensor>& layers, std::span<const std::int32_t> targets, std::int64_t top,
                      const Logits& logits) {
  if (layers.empty()) fail_usage("--lens: the model is no stack of blocks, whose layers could be read");
  std::vector<std::int32_t> scored(targets.begin(), targets.end());
  std::ranges::replace(scored, kIgnoredTarget, 0);  // every position is read
  LogitLens lens;
  for (const Tensor& layer : layers) {
    Tape tape(no_grad);
    std::vector<LensPrediction>& row = lens.emplace_back();
    score_tokens(Variable::constant(tape, layer), scored, logits, top, [&](const TokenScore& score) {
      const bool known = targets[row.size()] != kIgnoredTarget;
      row.push_back({score.likeliest, known ? std::optional(score.nats) : std::nullopt});
    });
  }
  return lens;
}

// Runs `forward` on a tape, and returns the features after each layer of all stacks of blocks.
template <class Forward>
std::vector<Tensor> features_of(const Forward& forward) {
  LayerFeatures collector;
  const TensorObserver observer = std::ref(collector);
  Tape tape({.record = false, .observer = &observer});
  forward(tape, collector.layers);
  return std::move(collector.layers);
}

}  // namespace

LogitLens logit_lens(const CausalModel& model, std::span<const std::int32_t> ids, std::int64_t top) {
  const auto layers = features_of([&](Tape& tape, auto&) { model.forward(id_row(tape, ids)); });
  std::vector<std::int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(kIgnoredTarget);
  return read_layers(layers, targets, top, [&](const Variable& x) { return model.logits(x); });
}

LogitLens logit_lens(const MaskedLanguageModel& model, std::span<const std::int32_t> ids, std::int64_t top) {
  const auto layers = features_of([&](Tape& tape, auto&) { model.features({id_row(tape, ids)}); });
  return read_layers(layers, ids, top, [&](const Variable& x) { return model.logits(x); });
}

LogitLens logit_lens(const EncoderDecoder& model, std::span<const std::int32_t> source,
                     std::span<const std::int32_t> target, const PairSymbols& symbols, std::int64_t top) {
  const TeacherForcedPair pair = teacher_forced_pair(source, target, symbols);
  const auto layers = features_of([&](Tape& tape, std::vector<Tensor>& collected) {
    const EncoderOutput encoded = model.encode(tape, pair.source);
    collected.clear();  // drops the layers of the encoder, which predicts nothing
    model.decode(Variable::constant(tape, pair.inputs), encoded);
  });
  std::vector<std::int32_t> targets(target.begin(), target.end());
  targets.push_back(symbols.target.end);
  return read_layers(layers, targets, top, [&](const Variable& x) { return model.logits(x); });
}

}  // namespace tapeformer
