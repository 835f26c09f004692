// Training throughput on random tokens of fixed shapes: a step is gradients zeroed, forward, cross-entropy, backward,
// clipping by the global norm, AdamW. Prints one JSON line; bench/peers/torch_gpt.py prints the same keys for PyTorch.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>

#include "autograd/core/parallel.h"
#include "autograd/core/random.h"
#include "autograd/tape/tape.h"
#include "autograd/tensor/allocator.h"
#include "nn/models/gpt.h"
#include "train/optimizer.h"

namespace tapeformer {
namespace {

struct Work {
  std::string arch = "gpt";
  std::int64_t layers = 4, heads = 4, dim = 128, vocab = 65, batch = 12, length = 64;
  int steps = 10, warmup = 3, threads = 2;
};

Tensor random_ids(const Work& work, std::uint64_t stream) {
  const Tensor ids = Tensor::empty({work.batch, work.length}, DType::i32);
  RandomStream random(RandomKey{.seed = 1, .stream = stream});
  for (std::int32_t& id : ids.span<std::int32_t>()) id = static_cast<std::int32_t>(random.below(work.vocab));
  return ids;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

nlohmann::ordered_json measure(const Work& work) {
  set_thread_count(work.threads);
  const Gpt model({.vocab = work.vocab,
                   .context = work.length,
                   .layers = work.layers,
                   .block = {.dim = work.dim, .heads = work.heads, .ff_dim = 4 * work.dim}});
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  AdamW optimizer(slab, {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .clip = 1});
  const Tensor ids = random_ids(work, 0), targets = random_ids(work, 1);

  std::vector<double> seconds;
  double loss_value = 0;
  for (int step = 1; step <= work.warmup + work.steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    slab.zero_grad();
    {
      Tape tape({.training = true});
      const Variable loss = model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {});
      loss_value = loss.value().item();
      tape.backward(loss);
    }
    optimizer.update(3e-4, step);
    if (step > work.warmup) {
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double step_seconds = median(seconds);
  return {{"peer", "tapeformer"},
          {"arch", work.arch},
          {"bf16", false},
          {"layers", work.layers},
          {"heads", work.heads},
          {"dim", work.dim},
          {"vocab", work.vocab},
          {"batch", work.batch},
          {"length", work.length},
          {"steps", work.steps},
          {"threads", work.threads},
          {"params", model.parameter_count()},
          {"step_ms", 1e3 * step_seconds},
          {"tokens_per_s", static_cast<double>(work.batch * work.length) / step_seconds},
          {"loss", loss_value},
          {"peak_rss_mib", static_cast<double>(usage.ru_maxrss) / 1024},
          {"peak_tensor_mib", static_cast<double>(memory_stats().peak) / (1 << 20)}};
}

}  // namespace
}  // namespace tapeformer

int main(int argc, char** argv) {
  tapeformer::Work work;
  CLI::App app("Training throughput on random tokens; one JSON line");
  app.add_option("--arch", work.arch)->check(CLI::IsMember({"gpt"}));
  for (auto& [name, value] :
       {std::pair{"--layers", &work.layers}, std::pair{"--heads", &work.heads}, std::pair{"--dim", &work.dim},
        std::pair{"--vocab", &work.vocab}, std::pair{"--batch", &work.batch}, std::pair{"--length", &work.length}}) {
    app.add_option(name, *value)->check(CLI::PositiveNumber)->capture_default_str();
  }
  for (auto& [name, value] : {std::pair{"--steps", &work.steps}, std::pair{"--warmup", &work.warmup},
                              std::pair{"--threads", &work.threads}}) {
    app.add_option(name, *value)->check(CLI::PositiveNumber)->capture_default_str();
  }
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << tapeformer::measure(work) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "train_step: " << error.what() << '\n';
    return 1;
  }
}
