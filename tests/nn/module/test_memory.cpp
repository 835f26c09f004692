// After its first step a training loop of fixed shapes asks the system for no memory, and one of varying shapes holds
// little more than its largest step needs.
#include <malloc.h>

#include "autograd/kernels/gemm/precision.h"
#include "autograd/tensor/allocator.h"
#include "core/parallel.h"
#include "data/text/batcher.h"
#include "nn/optim/optimizers.h"
#include "tests/long_test.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

// Bytes that the C library holds from the system: its heaps, and the blocks it maps one by one. (Zero under
// AddressSanitizer, which has an allocator of its own.)
std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.arena + info.hblkhd;
}

void check_steady(const GptConfig& config, std::int64_t batch_rows, std::int64_t accumulate, bool recompute,
                  int threads) {
  CAPTURE(threads);
  set_thread_count(threads);
  release_cached_memory();  // begins with nothing, whatever ran before
  const Gpt model(config);
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}, {"clip", 1.0}});
  const std::vector<std::int32_t> text = random_ids(5000, config.vocab, 1);
  const TextBatcher batcher(TokenView(std::span<const std::int32_t>(text)), batch_rows, config.context, 1);
  TextBatch batch;
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
    // A thread gets scratch memory with its first task of a kind, and which thread gets a task is a matter of timing.
    if (threads == 1) CHECK(heap_bytes() == heap);
  }
}

}  // namespace

TEST_CASE("memory: a training loop with dropout asks the system for nothing after its first step" * long_test()) {
  GptConfig post = small_gpt(DType::f32);
  post.block.norm = NormPlace::post;
  for (const GptConfig& architecture : {small_gpt(DType::f32), post, modern_gpt(DType::f32)}) {
    for (const auto& [accumulate, recompute] : {std::pair{1, false}, {2, false}, {2, true}}) {
      GptConfig config = architecture;
      config.vocab = 500, config.context = 64;
      config.block.dim = 64, config.block.ff_dim = 256, config.block.dropout = config.block.attention_dropout = 0.1;
      for (const auto precision : {kernels::MatmulPrecision::highest, kernels::MatmulPrecision::medium}) {
        const kernels::MatmulPrecisionScope scope(precision);
        for (int threads : {1, 2}) check_steady(config, 4, accumulate, recompute, threads);
      }
    }
  }
  set_thread_count(default_thread_count());
}

TEST_CASE("memory: training on sentences of many lengths holds at most 1.3 times the peak in use" * long_test()) {
  // The model and the lengths of configs/reverse.toml, with a smaller batch.
  TransformerConfig config;
  config.source_vocab = config.target_vocab = 30, config.context = 96, config.layers = 2;
  config.block = {.dim = 128, .heads = 4, .ff_dim = 512, .dropout = 0.1, .norm = NormPlace::pre, .dtype = DType::f32};
  release_cached_memory();
  const Transformer model(config);
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}, {"clip", 1.0}});
  RandomStream random(RandomKey{.seed = 1});
  // Batches of one length, of 64 sentences and of a fixed number of tokens.
  for (const bool fixed_tokens : {false, true}) {
    CAPTURE(fixed_tokens);
    release_cached_memory();
    reset_peak_memory();
    for (std::uint32_t number = 1; number <= 40; ++number) {
      const auto length = static_cast<std::int64_t>(5 + random.below(9));
      slab.zero_grad();
      add_gradients(model, full_batch(config, fixed_tokens ? 512 / length : 64, length, length), {},
                    {.training = true, .random = {.step = number}});
      optimizer->step(1e-3, number);
      const MemoryStats stats = memory_stats();
      CHECK(static_cast<double>(stats.reserved) <= 1.3 * static_cast<double>(stats.peak));
    }
  }
}
