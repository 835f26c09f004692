#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/tensor/tensor.h"
#include "cli/commands.h"
#include "cli/config_options.h"
#include "cli/model_costs.h"
#include "cli/terminal/numbers.h"
#include "cli/terminal/progress_line.h"
#include "core/parallel.h"
#include "train/config/matmul_config.h"
#include "train/config/optim_config.h"
#include "train/config/run_config.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {
namespace {

struct InfoArguments {
  std::string target;
  ConfigOverrides overrides;
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

// Seconds for 1 GFLOP of matrix products on this machine, the best of a few short runs.
double seconds_per_gflop(kernels::MatmulPrecision precision) {
  const kernels::MatmulPrecisionScope scope(precision);
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

void print_info(const InfoArguments& arguments) {
  std::optional<RunFolder> run;
  if (std::filesystem::is_directory(arguments.target)) run = find_run(arguments.target).run;
  Config file = run ? load_run_config(run->config()) : load_config(arguments.target);
  const ResolvedConfig config = override_config(std::move(file), arguments.overrides);
  const ModelCosts costs = run ? costs_of_run(config, run->root.string()) : costs_of_config(config);
  const double step_gflop = 1e-9 * costs.flops_per_token * static_cast<double>(costs.tokens_per_step);
  const double step_seconds = step_gflop * seconds_per_gflop(matmul_precision(config));
  const double total_seconds = step_seconds * static_cast<double>(config.train.steps);
  const int slabs = 2 + find_optimizer_row(config.optimizer.name)->state_slabs(optimizer_options(config));
  const std::int64_t state_bytes = 4 * slabs * costs.total;  // f32 weights, gradients and the optimizer's state

  if (arguments.json) {
    nlohmann::ordered_json parameters;
    for (const ModelCosts::Part& part : costs.parts) parameters[part.key] = part.parameters;
    parameters["total"] = costs.total;
    if (costs.without_heads) parameters["without_heads"] = *costs.without_heads;
    std::cout << nlohmann::ordered_json{{"type", config.model.type},
                                        {"vocab", costs.vocab},
                                        {"parameters", parameters},
                                        {"state_bytes", state_bytes},
                                        {"tokens_per_step", costs.tokens_per_step},
                                        {"flops_per_token", costs.flops_per_token},
                                        {"matmul", word_of(config.train.matmul)},
                                        {"step_seconds_at_least", step_seconds},
                                        {"training_seconds_at_least", total_seconds}}
              << '\n';
    return;
  }
  const auto row = [](const std::string& name, std::int64_t value) {
    std::printf("  %-20s %15s\n", name.c_str(), with_commas(value).c_str());
  };
  std::printf("%s, vocabulary of %s\nparameters\n", config.model.type.c_str(), with_commas(costs.vocab).c_str());
  for (const ModelCosts::Part& part : costs.parts) row(part.label, part.parameters);
  row("total", costs.total);
  if (costs.without_heads) row("without heads", *costs.without_heads);
  std::printf("memory   %.1f MiB for weights, gradients and optimizer state; activations come on top\n",
              static_cast<double>(state_bytes) / (1 << 20));
  std::printf("a step   %lld tokens, %.2f GFLOP, at least %s here on %d threads, with products in %s precision\n",
              static_cast<long long>(costs.tokens_per_step), step_gflop, format_seconds(step_seconds).c_str(),
              thread_count(), word_of(config.train.matmul).c_str());
  std::printf("training %lld steps, at least %s\n", static_cast<long long>(config.train.steps),
              format_duration(total_seconds).c_str());
}

}  // namespace

void add_info_command(CLI::App& app) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* command = app.add_subcommand("info", "Parameters, memory, FLOPs and time of a model, without training it");
  command->add_option("target", arguments->target, "A configuration file or a run's folder")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_config_options(*command, arguments->overrides);
  command->callback([arguments] { print_info(*arguments); });
}

}  // namespace tapeformer::cli
