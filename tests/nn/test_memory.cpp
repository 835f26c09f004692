// After its first step a training loop of fixed shapes asks the system for no memory.
#include <malloc.h>

#include "autograd/tensor/allocator.h"
#include "data/text/batcher.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

// Bytes that the C library holds from the system: its heaps, and the blocks it maps one by one. (Zero under
// AddressSanitizer, which has an allocator of its own.)
std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.arena + info.hblkhd;
}

void check_steady(const GptConfig& config, std::int64_t batch_rows, std::int64_t accumulate, bool recompute) {
  release_cached_memory();  // begins with nothing, whatever ran before
  const Gpt model(config);
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer("adamw", slab, {.weight_decay = 0.1, .clip = 1});
  const std::vector<std::int32_t> text = random_ids(5000, config.vocab, 1);
  const TextBatcher batcher(TokenView(std::span<const std::int32_t>(text)), batch_rows, config.context, 1);
  Batch batch;
  const auto step = [&](std::uint32_t number) {
    slab.zero_grad();
    for (std::int64_t micro = 0; micro < accumulate; ++micro) {
      batcher.draw(number, static_cast<std::uint32_t>(micro), batch);
      const Dims sizes{batch.rows, batch.length};
      add_gradients(model, ids_tensor(batch.inputs, sizes), ids_tensor(batch.targets, sizes),
                    {.normalizer = static_cast<double>(accumulate * sizes.product())},
                    {.training = true,
                     .recompute = recompute,
                     .random = {.step = number, .micro_step = static_cast<std::uint32_t>(micro)}});
    }
    return optimizer->step(1e-3, number);
  };

  reset_peak_memory();
  const std::int64_t requests_before = memory_stats().system_requests;
  step(1);
  const MemoryStats first = memory_stats();
  CHECK(first.system_requests > requests_before);
  const std::size_t heap = heap_bytes();
  for (std::uint32_t number = 2; number <= 10; ++number) {
    CAPTURE(number);
    CHECK(std::isfinite(step(number)));
    CHECK(memory_stats().system_requests == first.system_requests);
    CHECK(memory_stats().reserved == first.reserved);
    CHECK(memory_stats().in_use == first.in_use);
    CHECK(memory_stats().peak == first.peak);
    CHECK(heap_bytes() == heap);
  }
}

}  // namespace

TEST_CASE("memory: a training loop with dropout asks the system for nothing after its first step") {
  for (NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    for (const auto& [accumulate, recompute] : {std::pair{1, false}, {2, false}, {2, true}}) {
      GptConfig config = small_gpt(DType::f32);
      config.vocab = 500, config.context = 64;
      config.block.dim = 64, config.block.ff_dim = 256, config.block.dropout = config.block.attention_dropout = 0.1;
      config.block.norm = norm;
      check_steady(config, 4, accumulate, recompute);
    }
  }
}
