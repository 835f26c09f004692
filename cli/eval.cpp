#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"

namespace tapeformer::cli {
namespace {

struct EvalArguments {
  std::string run, text;
  std::int64_t stride = 0, context = 0, batch = 16;
  bool json = false;
};

void evaluate_text(const EvalArguments& arguments) {
  const RunModel run = load_run_model(arguments.run);
  const std::string text = read_text(arguments.text);
  const std::vector<std::int32_t> ids = run.tokenizer->encode(text);
  check(ids.size() >= 2, arguments.text, ": has ", ids.size(), " tokens, at least 2 are needed");
  WindowOptions options{.context = arguments.context, .stride = arguments.stride, .batch = arguments.batch};
  if (options.context == 0) options.context = run.model->config().context;
  if (options.stride == 0) options.stride = options.context;
  const Evaluation result =
      evaluate(*run.model, std::span<const std::int32_t>(ids), options, show_progress("evaluating"));

  const std::int64_t bytes = static_cast<std::int64_t>(text.size());
  const double bits_per_byte = result.bits_per_byte(bytes);
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"tokens", result.tokens},        {"bytes", bytes},
                                        {"loss", result.loss()},          {"perplexity", result.perplexity()},
                                        {"bits_per_byte", bits_per_byte}, {"context", options.context},
                                        {"stride", options.stride}}
              << '\n';
    return;
  }
  std::cout << "tokens         " << result.tokens << " scored of " << ids.size()
            << " (the first has nothing before it)\n"
            << "bytes          " << bytes << '\n'
            << "loss           " << result.loss() << " nats per token\n"
            << "perplexity     " << result.perplexity() << '\n'
            << "bits per byte  " << bits_per_byte << '\n'
            << "context        " << options.context << ", stride " << options.stride << ", step " << run.step << '\n';
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Loss, perplexity and bits per byte of a text");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  command->add_option("--text", arguments->text, "Text file")->required();
  command
      ->add_option("--stride", arguments->stride,
                   "Tokens between the beginnings of windows; smaller is slower and sees more context [the context]")
      ->check(at_least(1));
  command->add_option("--context", arguments->context, "Tokens of a window [the model's]")->check(at_least(1));
  command->add_option("--batch", arguments->batch, "Windows at once [16]")->check(at_least(1));
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { evaluate_text(*arguments); });
}

}  // namespace tapeformer::cli
