#include "generate/alignment/attention_map.h"

#include <cmath>
#include <functional>

#include "autograd/tape/tape.h"
#include "generate/alignment/teacher_forcing.h"
#include "nn/attention/attention.h"

namespace tapeformer {
namespace {

Tensor row_of(std::span<const std::int32_t> ids) { return Tensor::from(ids, {1, std::ssize(ids)}); }

// Removes the batch axis, (1, …) → (…), and converts to f64.
Tensor without_batch(const Tensor& x) {
  const Dims& sizes = x.sizes();
  return x.to(DType::f64).contiguous().reshape({sizes[1], sizes[2], sizes[3]});
}

// Returns the norms of the vectors: (heads, T, dim) → (heads, T).
Tensor norms_of(const Tensor& x) {
  const Tensor norms = Tensor::empty({x.size(0), x.size(1)}, DType::f64);
  const double* value = x.data<double>();
  for (double& norm : norms.span<double>()) {
    double squares = 0;
    for (std::int64_t i = 0; i < x.size(2); ++i, ++value) squares += *value * *value;
    norm = std::sqrt(squares);
  }
  return norms;
}

// An observer that collects the weights and outputs of self-attention and cross-attention.
struct Collector {
  AttentionMap self{"self", {}, {}}, cross{"cross", {}, {}};

  void operator()(std::string_view name, const std::function<Tensor()>& tensor) {
    if (name == kSelfAttentionWeights) self.weights.push_back(without_batch(tensor()));
    if (name == kSelfAttentionHeads) self.outputs.push_back(norms_of(without_batch(tensor())));
    if (name == kCrossAttentionWeights) cross.weights.push_back(without_batch(tensor()));
    if (name == kCrossAttentionHeads) cross.outputs.push_back(norms_of(without_batch(tensor())));
  }
};

// Runs `forward` on a tape that the collector observes.
template <class Forward>
void collect(Collector& collector, const Forward& forward) {
  const TensorObserver observer = std::ref(collector);
  Tape tape({.record = false, .observer = &observer});
  forward(tape);
}

template <class Forward>
AttentionMap self_attention(const Forward& forward) {
  Collector collector;
  collect(collector, forward);
  if (collector.self.weights.empty()) fail_usage("attention: the model has no attention");
  return collector.self;
}

}  // namespace

AttentionMap attention_of(const CausalModel& model, std::span<const std::int32_t> ids) {
  return self_attention([&](Tape& tape) { model.forward(Variable::constant(tape, row_of(ids))); });
}

AttentionMap attention_of(const Model& model, std::span<const std::int32_t> ids) {
  return self_attention([&](Tape& tape) { model.hidden_states({Variable::constant(tape, row_of(ids))}); });
}

std::vector<AttentionMap> attention_of(const EncoderDecoder& model, std::span<const std::int32_t> source,
                                       std::span<const std::int32_t> target, const PairSymbols& symbols) {
  const TeacherForcedPair pair = teacher_forced_pair(source, target, symbols);
  std::size_t encoder_layers = 0;
  Collector all;
  collect(all, [&](Tape& tape) {
    const EncoderOutput encoded = model.encode(tape, pair.source);
    encoder_layers = all.self.weights.size();
    model.decode(Variable::constant(tape, pair.inputs), encoded);
  });
  std::vector<AttentionMap> maps;
  const auto part = [&](const char* name, const std::vector<Tensor>& weights, const std::vector<Tensor>& outputs,
                        std::size_t begin, std::size_t end) {
    if (begin == end) return;
    AttentionMap map{name, {weights.begin() + begin, weights.begin() + end}, {}};
    if (!outputs.empty()) map.outputs.assign(outputs.begin() + begin, outputs.begin() + end);
    maps.push_back(std::move(map));
  };
  part("encoder", all.self.weights, all.self.outputs, 0, encoder_layers);
  part("decoder", all.self.weights, all.self.outputs, encoder_layers, all.self.weights.size());
  part("cross", all.cross.weights, all.cross.outputs, 0, all.cross.weights.size());
  if (maps.empty()) fail_usage("attention: the model has no attention");
  return maps;
}

}  // namespace tapeformer
