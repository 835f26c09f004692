#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"

namespace tapeformer::cli {
namespace {

struct SurprisalArguments {
  std::string run, text, prompt;
  std::int64_t stride = 0;
  bool json = false;
};

void print_surprisals(const SurprisalArguments& arguments) {
  const RunModel run = load_run_model(arguments.run);
  const std::string text = arguments.text.empty() ? arguments.prompt : read_text(arguments.text);
  const std::vector<std::int32_t> ids = run.tokenizer->encode(text);
  check(ids.size() >= 2, "surprisal: the text has ", ids.size(), " tokens, at least 2 are needed");
  // Half overlapping windows: every token but the first ones is predicted from at least half a context.
  const std::int64_t context = run.model->config().context;
  const WindowOptions options{.stride = arguments.stride ? arguments.stride : std::max<std::int64_t>(context / 2, 1)};
  const std::vector<double> nats = surprisals(*run.model, std::span<const std::int32_t>(ids), options);

  double total = 0;
  for (double value : nats) total += value;
  const double mean = total / static_cast<double>(nats.size());
  auto tokens = nlohmann::ordered_json::array();
  if (!arguments.json) std::cout << "   nats    bits  token\n";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto token = nlohmann::ordered_json(std::string(run.tokenizer->token_bytes(ids[i])));
    if (arguments.json) {
      const auto value = [&](double unit) { return i ? nlohmann::ordered_json(nats[i - 1] / unit) : nullptr; };
      tokens.push_back({{"id", ids[i]}, {"token", token}, {"nats", value(1)}, {"bits", value(std::numbers::ln2)}});
      continue;
    }
    char numbers[40] = "      -       -";
    if (i) std::snprintf(numbers, sizeof(numbers), "%7.3f %7.3f", nats[i - 1], nats[i - 1] / std::numbers::ln2);
    std::cout << numbers << "  " << token.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }
  if (arguments.json) {
    const nlohmann::ordered_json object{{"tokens", tokens}, {"mean_nats", mean}, {"perplexity", std::exp(mean)}};
    std::cout << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    std::cout << "mean " << mean << " nats, perplexity " << std::exp(mean) << '\n';
  }
}

}  // namespace

void add_surprisal_command(CLI::App& app) {
  auto arguments = std::make_shared<SurprisalArguments>();
  CLI::App* command = app.add_subcommand("surprisal", "-log P(token | what is before it), token by token");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  CLI::Option* text = command->add_option("--text", arguments->text, "Text file");
  command->add_option("--prompt", arguments->prompt, "The text itself")->excludes(text);
  command->add_option("--stride", arguments->stride, "Tokens between the beginnings of windows [half the context]")
      ->check(at_least(1));
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] {
    if (arguments->text.empty() && arguments->prompt.empty())
      fail_usage("surprisal: expected --text FILE or --prompt TEXT");
    print_surprisals(*arguments);
  });
}

}  // namespace tapeformer::cli
