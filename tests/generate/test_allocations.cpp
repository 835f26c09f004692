// What generation asks for memory once its buffers are there.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "autograd/tensor/allocator.h"
#include "core/parallel.h"
#include "core/sanitizers.h"
#include "generate/generator.h"
#include "nn/models/gpt.h"

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which checks how blocks are asked for, and so needs its own operators
#include <doctest/doctest.h>

using namespace tapeformer;

namespace {

// The largest block that was asked for by new.
std::atomic<std::size_t> largest = 0;

void* block_of(std::size_t bytes, std::size_t alignment) {
  for (std::size_t seen = largest; bytes > seen && !largest.compare_exchange_weak(seen, bytes);) continue;
  void* const block = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

// The operators of a program go before those of the library.
void* operator new(std::size_t bytes) { return block_of(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return block_of(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

TEST_CASE("generate: a token asks the system for no memory, and for no block as large as the logits") {
  GptConfig config{.vocab = 5000, .context = 128, .layers = 1, .block = {}};
  config.block = {.dim = 16, .heads = 4, .ff_dim = 32, .dtype = DType::f32};
  const Gpt model(config);
  model.initialize_parameters(1);
  set_thread_count(1);  // a thread gets scratch memory with its first task of a kind
  for (const SamplingOptions& sampling : {SamplingOptions{.temperature = 0},
                                          {},
                                          {.temperature = 2, .top_k = 40},
                                          {.top_p = 0.9},
                                          {.top_k = 4000, .top_p = 0.5}}) {
    CAPTURE(sampling.temperature);
    CAPTURE(sampling.top_k);
    CAPTURE(sampling.top_p);
    // The cache of keys and values grows last at the 65th token.
    constexpr std::int64_t kSteady = 70;
    std::int64_t tokens = 0, requests = 0;
    const auto on_token = [&](std::int32_t) {
      if (++tokens == kSteady) requests = memory_stats().system_requests, largest = 0;
      return true;
    };
    generate(model, std::vector<std::int32_t>{1}, {.sampling = sampling, .tokens = kSteady + 20}, on_token);
    CHECK(tokens == kSteady + 20);
    CHECK(memory_stats().system_requests == requests);
    CHECK(largest < config.vocab * sizeof(float));
  }
  set_thread_count(default_thread_count());
}
#endif
