#include "nn/interfaces/encoder_decoder.h"

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "nn/layers/lm_head.h"

namespace tapeformer {

Tensor select_rows(const Tensor& x, std::span<const std::int64_t> rows) {
  const std::vector<std::int32_t> ids(rows.begin(), rows.end());
  Dims sizes = x.sizes();
  sizes[0] = static_cast<std::int64_t>(ids.size());
  Tape tape(no_grad);
  const Variable table = Variable::constant(tape, x.reshape({x.size(0), -1}));
  const Tensor places = Tensor::from(std::span<const std::int32_t>(ids), {sizes[0]});
  return embedding(table, Variable::constant(tape, places)).value().reshape(sizes);
}

EncoderOutput select_rows(const EncoderOutput& encoded, std::span<const std::int64_t> rows) {
  Tape& tape = *encoded.hidden.tape();
  const auto selected = [&](const Variable& x) { return Variable::constant(tape, select_rows(x.value(), rows)); };
  std::vector<std::int32_t> lengths;
  for (const std::int64_t row : rows) lengths.push_back(encoded.lengths.data<std::int32_t>()[row]);
  EncoderOutput result{selected(encoded.hidden),
                       Tensor::from(std::span<const std::int32_t>(lengths), {static_cast<std::int64_t>(rows.size())})};
  for (const Variable& x : encoded.initial) result.initial.push_back(selected(x));
  return result;
}

Variable EncoderDecoder::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                              const CrossEntropyOptions& options) const {
  const EncoderOutput encoded = encode(*inputs.tape(), source);
  return loss_of_logits(logits(decode(inputs, encoded)), targets.value(), options);
}

}  // namespace tapeformer
