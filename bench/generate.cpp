// Compares generation with the speed of the memory: every token reads every weight once, so a token takes at least the
// bytes of the weights divided by the read bandwidth. Each round measures the bandwidth, by the sum of a buffer as
// large as the weights, and then generation with the key/value cache from a random prompt, so that both run on the
// machine in the same state. Prints one JSON line with the medians over the rounds.
#include <iostream>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/reduce.h"
#include "bench/model_work.h"
#include "core/parallel.h"
#include "core/random.h"
#include "generate/generator.h"

namespace tapeformer::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct GenerateWork : Work {
  std::int64_t prompt = 64, tokens = 64;
  WeightFormat weights = WeightFormat::f32;
  double temperature = 1;
};

// Seconds of one generation: until the first token, which processes the whole prompt in one batch, and for each later
// token. Between the middle and the last token, so many blocks were asked of the system for tensors.
struct Times {
  double prompt = 0;
  std::vector<double> tokens;
  std::int64_t system_requests = 0;
};

Times generation_times(const Gpt& model, std::span<const std::int32_t> prompt, const GenerateWork& work) {
  std::vector<Clock::time_point> moments{Clock::now()};
  std::int64_t requests = 0;
  const SamplingOptions sampling{.temperature = work.temperature};
  generate(model, prompt, {.sampling = sampling, .tokens = work.tokens}, [&](std::int32_t) {
    moments.push_back(Clock::now());
    if (std::ssize(moments) - 1 == work.tokens / 2) requests = memory_stats().system_requests;
    return true;
  });
  Times times;
  times.system_requests = memory_stats().system_requests - requests;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    const double seconds = std::chrono::duration<double>(moments[i] - moments[i - 1]).count();
    i == 1 ? void(times.prompt = seconds) : times.tokens.push_back(seconds);
  }
  return times;
}

// The bandwidth of the faster of two ways to read every element once: their sum, and the product with a row, which is
// spread over the threads in another way.
double seconds_to_read(const Tensor& buffer) {
  constexpr std::int64_t kColumns = 1024;
  const std::int64_t rows = buffer.numel() / kColumns;
  const Tensor x = Tensor::full({kColumns}, DType::f32, 1), y = Tensor::empty({rows}, DType::f32);
  float sum = 0;
  const kernels::MatmulPrecisionScope precision(kernels::MatmulPrecision::highest);
  const double summed =
      seconds_of([&] { kernels::sum_axis<float>(&sum, buffer.data<float>(), 1, buffer.numel(), 1, 0); });
  const double multiplied = seconds_of([&] {
    kernels::gemm<float>(y.data<float>(), rows, {x.data<float>(), kColumns}, {buffer.data<float>(), kColumns, true}, 1,
                         rows, kColumns, 1, 0);
  });
  return std::min(summed, multiplied);
}

// The speed does not depend on the values.
void fill(const Tensor& weights, float value) {
  if (is_floating(weights.dtype())) return weights.fill(value);
  if (weights.dtype() == DType::bf16) {
    std::ranges::fill(weights.span<kernels::Bf16>(), kernels::round_to_bf16(value));
    return;
  }
  const kernels::Q8Rows rows = weights.q8_rows();
  std::fill_n(rows.values, weights.numel(), std::int8_t{127});
  std::fill_n(rows.scales, weights.numel() / kernels::kQ8Block, kernels::round_to_f16(value / 127));
}

nlohmann::ordered_json measure(const GenerateWork& work) {
  check(work.batch == 1, "--batch: expected 1, one text is generated at a time, got ", work.batch);
  check(work.tokens >= 2, "--tokens: expected at least 2, the first one belongs to the prompt, got ", work.tokens);
  check(work.prompt + work.tokens <= work.length,
        "--prompt and --tokens: expected at most --length together, which is ", work.length, ", got ", work.prompt,
        " and ", work.tokens);
  set_thread_count(work.threads);
  const kernels::MatmulPrecisionScope precision(work.matmul);
  const WeightFormatScope weights(work.weights);
  const Gpt model(gpt_config(work));
  std::int64_t weight_bytes = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    weight_bytes += parameter.variable.value().bytes();
    fill(parameter.variable.value(), 0.01F);
  }
  std::vector<std::int32_t> prompt;
  RandomStream random(RandomKey{.seed = 1});
  for (std::int64_t i = 0; i < work.prompt; ++i) prompt.push_back(static_cast<std::int32_t>(random.below(work.vocab)));

  const Tensor buffer = Tensor::full({weight_bytes / size_of(DType::f32)}, DType::f32, 1);
  std::vector<double> reads, prompts, tokens;
  std::int64_t requests = 0;
  for (int round = 0; round < work.warmup + work.steps; ++round) {
    const double read = seconds_to_read(buffer);
    const Times times = generation_times(model, prompt, work);
    if (round < work.warmup) continue;
    reads.push_back(read);
    prompts.push_back(times.prompt);
    tokens.push_back(median(times.tokens));
    requests = std::max(requests, times.system_requests);
  }
  const double bound = median(reads), token = median(tokens);
  return report(work, model,
                {{"weights", word_of(work.weights)},
                 {"prompt", work.prompt},
                 {"tokens", work.tokens},
                 {"weight_bytes", weight_bytes},
                 {"bandwidth_gb_per_s", 1e-9 * static_cast<double>(weight_bytes) / bound},
                 {"bound_ms", 1e3 * bound},
                 {"token_ms", 1e3 * token},
                 {"ratio", bound / token},
                 {"system_requests", requests},
                 {"prompt_tokens_per_s", static_cast<double>(work.prompt) / median(prompts)}});
}

}  // namespace
}  // namespace tapeformer::bench

int main(int argc, char** argv) {
  using namespace tapeformer::bench;
  GenerateWork work{
      {.layers = 12, .heads = 12, .dim = 768, .vocab = 50257, .batch = 1, .length = 1024, .steps = 5, .warmup = 1}};
  CLI::App app("Generation with the key/value cache, and what the memory's bandwidth allows; one JSON line");
  add_work_options(app, work);
  app.add_option("--prompt", work.prompt)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--tokens", work.tokens)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--temperature", work.temperature, "0: the likeliest token, which costs next to nothing")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--weights",
         [&](const std::string& word) { work.weights = tapeformer::value_of<tapeformer::WeightFormat>(word); })
      ->check(CLI::IsMember(tapeformer::words_of<tapeformer::WeightFormat>()))
      ->default_str("f32");
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << measure(work) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "generate: " << error.what() << '\n';
    return 1;
  }
}
