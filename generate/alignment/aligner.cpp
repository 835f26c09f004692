#include "generate/alignment/aligner.h"

#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/tape/tape.h"
#include "generate/alignment/teacher_forcing.h"

namespace tapeformer {
namespace {

// Returns the range [begin, end) of the `count` layers or heads over which the weights are averaged.
std::pair<std::int64_t, std::int64_t> range_of(const char* what, std::optional<std::int64_t> wanted,
                                               std::int64_t count) {
  if (!wanted) return {0, count};
  if (*wanted < 0 || *wanted >= count) fail_usage(what, ": expected 0 to ", count - 1, ", got ", *wanted);
  return {*wanted, *wanted + 1};
}

}  // namespace

std::vector<std::vector<double>> align(const EncoderDecoder& model, std::span<const std::int32_t> source,
                                       std::span<const std::int32_t> target, const PairSymbols& symbols,
                                       const AlignmentHeads& heads) {
  const TeacherForcedPair pair = teacher_forced_pair(source, target, symbols);
  return align(model, pair.source, pair.inputs, heads);
}

std::vector<std::vector<double>> align(const EncoderDecoder& model, const SourceBatch& source, const Tensor& inputs,
                                       const AlignmentHeads& heads) {
  std::vector<Tensor> layers;  // (1, heads, T, S) each
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& weights) {
    if (name == kCrossAttentionWeights) layers.push_back(weights().to(DType::f64).contiguous());
  };
  const kernels::BatchInvariant batch_invariant;
  Tape tape({.record = false, .observer = &observer});
  const EncoderOutput encoded = model.encode(tape, source);
  model.decode(Variable::constant(tape, inputs), encoded);
  const std::int64_t source_length = encoded.hidden.size(1), target_length = inputs.size(1);
  if (layers.empty()) fail_usage("alignments: the model has no attention from target to source");

  const auto [first_layer, last_layer] = range_of("--layer", heads.layer, std::ssize(layers));
  const auto [first_head, last_head] = range_of("--head", heads.head, layers.front().size(1));
  std::vector<std::vector<double>> rows(target_length, std::vector<double>(source_length, 0));
  const double share = 1.0 / static_cast<double>((last_layer - first_layer) * (last_head - first_head));
  for (std::int64_t layer = first_layer; layer < last_layer; ++layer) {
    const double* weight = layers[layer].data<double>() + first_head * target_length * source_length;
    for (std::int64_t head = first_head; head < last_head; ++head) {
      for (std::vector<double>& row : rows) {
        for (double& sum : row) sum += share * *weight++;
      }
    }
  }
  return rows;
}

}  // namespace tapeformer
