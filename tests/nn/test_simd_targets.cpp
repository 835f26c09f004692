// A few steps of a whole model on each instruction set that this machine has.
#include "nn/optim/optimizers.h"
#include "tests/kernels/kernel_test.h"
#include "tests/largest_difference.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

// The weights after three steps of add_gradients(tape options). No biases: that of the keys has no gradient but
// rounding errors, and Adam makes whole steps of them.
template <class AddGradients>
std::vector<float> trained_weights(const Module& model, const AddGradients& add_gradients) {
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}, {"clip", 1.0}});
  for (std::uint32_t step = 1; step <= 3; ++step) {
    slab.zero_grad();
    add_gradients(TapeOptions{.training = true, .random = {.seed = 1, .step = step}});
    optimizer->step(1e-2, step);
  }
  return slab.values().to_vector<float>();
}

std::vector<float> trained_gpt(GptConfig config) {
  config.block.dropout = config.block.attention_dropout = 0.1;
  config.block.bias = false;
  const Gpt model(config);
  const Tensor ids = ids_tensor(random_ids(4 * 8, config.vocab, 1), {4, 8});
  return trained_weights(
      model, [&](const TapeOptions& options) { add_gradients(model, ids, ids, {.deferred = true}, options); });
}

std::vector<float> trained_plain() { return trained_gpt(small_gpt(DType::f32)); }
std::vector<float> trained_modern() { return trained_gpt(modern_gpt(DType::f32)); }

std::vector<float> trained_transformer() {
  TransformerConfig config = small_transformer(DType::f32);
  config.block.dropout = config.block.attention_dropout = 0.1;
  config.block.bias = false;
  const Transformer model(config);
  const std::int64_t source_lengths[] = {9, 4, 1}, target_lengths[] = {3, 8, 5};
  const PairBatch batch = batch_of(config, random_pairs(config, source_lengths, target_lengths), 9, 8);
  return trained_weights(model,
                         [&](const TapeOptions& options) { add_gradients(model, batch, {.deferred = true}, options); });
}

}  // namespace

TEST_CASE("models: on every instruction set training gives the same bits again, and nearly those of the others") {
  for (const auto& train : {trained_plain, trained_modern, trained_transformer}) {
    const std::vector<float> first = train();
    for_each_simd_target([&] {
      const std::vector<float> weights = train();
      CHECK(weights == train());
      CHECK(largest_difference(weights, first) < 1e-3);  // of steps of 1e-2 each
    });
  }
}
