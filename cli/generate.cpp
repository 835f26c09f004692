#include "generate/generator.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"

namespace tapeformer::cli {
namespace {

struct GenerateArguments {
  std::string run, prompt = "\n";
  std::optional<MatmulSetting> matmul;
  GenerateOptions options;
  bool no_cache = false;
};

void generate_text(const GenerateArguments& arguments) {
  check_options(arguments.options.sampling);
  const TrainedLanguageModel run =
      open_language_model(arguments.run, {.matmul = arguments.matmul, .bf16_weights = true});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const std::vector<std::int32_t> prompt = prompt_tokens(run, arguments.prompt);
  GenerateOptions options = arguments.options;
  options.use_cache = !arguments.no_cache;
  options.stop_token = run.tokenizer->special("<|endoftext|>").value_or(-1);
  std::cout << arguments.prompt << std::flush;
  generate(*run.model, prompt, options,
           [&](std::int32_t token) { std::cout << run.tokenizer->decode(std::span(&token, 1)) << std::flush; });
  std::cout << '\n';
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto arguments = std::make_shared<GenerateArguments>();
  GenerateOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  command->add_option("--prompt", arguments->prompt, "Text to continue [a newline]");
  command->add_option("--tokens", options.tokens, "Tokens to generate [200]")->check(at_least(0));
  command->add_option("--temperature", options.sampling.temperature, "0: always the likeliest token [1]");
  command->add_option("--top-k", options.sampling.top_k, "Only the k likeliest tokens; 0: all [0]");
  command->add_option("--top-p", options.sampling.top_p, "Only the likeliest tokens of this total probability [1]");
  command->add_option("--seed", options.seed, "The same seed gives the same text [1]");
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--no-cache", arguments->no_cache, "Without the key/value cache: slower, the same text");
  command->callback([arguments] { generate_text(*arguments); });
}

}  // namespace tapeformer::cli
