#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/core/parallel.h"
#include "autograd/kernels/gemm.h"
#include "cli/commands.h"
#include "cli/run_model.h"
#include "data/text.h"
#include "train/language_data.h"
#include "train/model_config.h"
#include "train/progress.h"

namespace tapeformer::cli {
namespace {

struct InfoArguments {
  std::string target;
  bool json = false;
};

// 1234567 → "1,234,567"
std::string with_commas(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (int place = static_cast<int>(digits.size()) - 3; place > 0; place -= 3) digits.insert(place, ",");
  return digits;
}

std::string format_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 1 ? "%.1f ms" : "%.2f s", seconds < 1 ? 1e3 * seconds : seconds);
  return text;
}

// Parameters of one part of a model: those whose names begin with the prefix.
std::int64_t count_parameters(const Module& model, const std::string& prefix) {
  std::int64_t count = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    if (parameter.name.starts_with(prefix)) count += parameter.variable.value().numel();
  }
  return count;
}

// Seconds for 1 GFLOP of matrix products on this machine, the best of a few short runs.
double seconds_per_gflop() {
  constexpr std::int64_t kSize = 1024;
  const Tensor a = Tensor::full({kSize, kSize}, DType::f32, 0.5), c = Tensor::empty({kSize, kSize}, DType::f32);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = ProgressLine::steady_seconds();
    kernels::gemm(c.data<float>(), kSize, {a.data<float>(), kSize}, {a.data<float>(), kSize}, kSize, kSize, kSize, 1.0f,
                  0.0f);
    best = std::min(best, ProgressLine::steady_seconds() - begin);
  }
  return best / (2e-9 * kSize * kSize * kSize);
}

// The vocabulary that training would have, read or learned where that can be done.
std::int64_t vocabulary_size(const Config& config) {
  if (!config.tokenizer.file.empty()) return Tokenizer::load(config.tokenizer.file)->vocab_size();
  if (config.tokenizer.kind != "char") return config.tokenizer.vocab;
  if (config.data.text.empty() && config.data.corpus.empty()) {
    fail_usage("info: a vocabulary of characters comes from the text: set data.text, data.corpus or tokenizer.file");
  }
  return prepare_language_data(config).tokenizer->vocab_size();
}

void print_info(const InfoArguments& arguments) {
  Config config;
  std::int64_t vocab = 0;
  if (std::filesystem::is_directory(arguments.target)) {
    const RunReference reference = find_run(arguments.target);
    config = resolve(load_config(reference.run.config()));
    vocab = Tokenizer::load(reference.run.tokenizer())->vocab_size();
  } else {
    config = resolve(load_config(arguments.target));
    validate(config);
    vocab = vocabulary_size(config);
  }
  const Gpt model(gpt_config(config, vocab));

  const std::int64_t total = model.parameter_count();
  const std::int64_t embeddings = count_parameters(model, "token_embedding.");
  const std::int64_t positions = count_parameters(model, "position_embedding.");
  const std::int64_t blocks = count_parameters(model, "blocks.");
  const std::int64_t head = count_parameters(model, "head.");
  const std::int64_t tokens = config.train.batch * config.train.accumulate * config.model.context;
  // Forward and backward: 6 FLOPs per parameter of a product and token, 12·L·d·T more for attention, causal half of it.
  const double products = static_cast<double>(total - positions - (head ? embeddings : 0));
  const double layers = static_cast<double>(config.model.layers);
  const double attention = layers * static_cast<double>(config.model.dim * config.model.context);
  // The forward of the blocks, a third of that: recomputing does it again for all but the last one.
  const double blocks_forward = 2 * static_cast<double>(blocks) + 2 * attention;
  const double flops_per_token =
      6 * products + 6 * attention + (config.train.recompute ? blocks_forward * (layers - 1) / layers : 0);
  const double step_gflop = 1e-9 * flops_per_token * static_cast<double>(tokens);
  const double step_seconds = step_gflop * seconds_per_gflop();
  const double total_seconds = step_seconds * static_cast<double>(config.train.steps);
  const std::int64_t state_bytes = 4 * 4 * total;  // f32 weights, gradients and two moments

  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"type", config.model.type},
                                        {"vocab", vocab},
                                        {"parameters",
                                         {{"embeddings", embeddings},
                                          {"positions", positions},
                                          {"blocks", blocks},
                                          {"final_norm", count_parameters(model, "final_norm.")},
                                          {"head", head},
                                          {"total", total}}},
                                        {"state_bytes", state_bytes},
                                        {"tokens_per_step", tokens},
                                        {"flops_per_token", flops_per_token},
                                        {"step_seconds_at_least", step_seconds},
                                        {"training_seconds_at_least", total_seconds}}
              << '\n';
    return;
  }
  const auto row = [](const char* name, std::int64_t value) {
    std::printf("  %-20s %15s\n", name, with_commas(value).c_str());
  };
  std::printf("%s, vocabulary of %s\nparameters\n", config.model.type.c_str(), with_commas(vocab).c_str());
  row("token embedding", embeddings);
  row("position embedding", positions);
  row("blocks", blocks);
  row("final norm", count_parameters(model, "final_norm."));
  row(head ? "head" : "head (tied)", head);
  row("total", total);
  std::printf("memory   %.1f MiB for weights, gradients and moments; activations come on top\n",
              static_cast<double>(state_bytes) / (1 << 20));
  std::printf("a step   %lld tokens, %.2f GFLOP, at least %s here on %d threads\n", static_cast<long long>(tokens),
              step_gflop, format_seconds(step_seconds).c_str(), thread_count());
  std::printf("training %lld steps, at least %s\n", static_cast<long long>(config.train.steps),
              format_duration(total_seconds).c_str());
}

}  // namespace

void add_info_command(CLI::App& app) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* command = app.add_subcommand("info", "Parameters, memory, FLOPs and time of a model, without training it");
  command->add_option("target", arguments->target, "A configuration file or a run's folder")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { print_info(*arguments); });
}

}  // namespace tapeformer::cli
