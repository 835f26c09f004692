// A few steps of a whole model on each instruction set that this machine has.
#include "tests/kernels/kernel_test.h"
#include "tests/nn/support.h"
#include "train/optimizer.h"

using namespace tapeformer;

namespace {

// The weights after three steps with dropout.
std::vector<float> trained_weights() {
  GptConfig config = small_gpt(DType::f32);
  config.block.dropout = config.block.attention_dropout = 0.1;
  config.block.bias =
      false;  // that of the keys has no gradient but rounding errors, and Adam makes whole steps of them
  const Gpt model(config);
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  AdamW optimizer(slab, {.weight_decay = 0.1, .clip = 1});
  const Tensor ids = ids_tensor(random_ids(4 * 8, config.vocab, 1), {4, 8});
  for (std::uint32_t step = 1; step <= 3; ++step) {
    slab.zero_grad();
    add_gradients(model, ids, ids, {.deferred = true}, {.training = true, .random = {.seed = 1, .step = step}});
    optimizer.update(1e-2, step);
  }
  return slab.values().to_vector<float>();
}

}  // namespace

TEST_CASE("gpt: on every instruction set training gives the same bits again, and nearly those of the others") {
  const std::vector<float> first = trained_weights();
  for_each_simd_target([&] {
    const std::vector<float> weights = trained_weights();
    CHECK(weights == trained_weights());
    double worst = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(weights[i]) - first[i]));
    }
    CHECK(worst < 1e-3);  // of steps of 1e-2 each
  });
}
