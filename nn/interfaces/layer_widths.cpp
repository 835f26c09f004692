#include "nn/interfaces/layer_widths.h"

namespace tapeformer {

std::vector<Tensor> layers_of_one_token(const Model& encoder, OpObserver* observer) {
  Tape tape({.record = false, .op_observer = observer});
  const Tensor id = Tensor::full({1, 1}, DType::i32, 0);
  std::vector<Tensor> layers;
  for (const Variable& layer : encoder.hidden_states({.input_ids = Variable::constant(tape, id)}))
    layers.push_back(layer.value());
  return layers;
}

void require_equal_widths(const std::vector<Tensor>& layers, std::string_view what) {
  const std::int64_t width = layers.back().size(-1);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].size(-1) == width) continue;
    fail_usage(what, ": a mixture needs layers of the same width: layer ", i, i == 0 ? " (the embedding)" : "", " is ",
               layers[i].size(-1), " wide, the last one ", width);
  }
}

}  // namespace tapeformer
