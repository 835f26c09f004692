#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"
#include "train/translation_evaluation.h"

namespace tapeformer::cli {
namespace {

struct SurprisalArguments {
  std::string run, text, prompt, source, target;
  std::int64_t stride = 0;
  bool json = false;
};

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A scored token, or one that has nothing before it and is not scored.
struct TokenSurprisal {
  std::int32_t id;
  std::string text;
  std::optional<double> nats;
};

Json to_json(const std::vector<TokenSurprisal>& tokens) {
  auto list = Json::array();
  for (const TokenSurprisal& token : tokens) {
    const auto value = [&](double unit) { return token.nats ? Json(*token.nats / unit) : Json(nullptr); };
    list.push_back({{"id", token.id}, {"token", token.text}, {"nats", value(1)}, {"bits", value(std::numbers::ln2)}});
  }
  return list;
}

void print_table(const std::vector<TokenSurprisal>& tokens) {
  for (const TokenSurprisal& token : tokens) {
    char numbers[40] = "      -       -";
    if (token.nats)
      std::snprintf(numbers, sizeof(numbers), "%7.3f %7.3f", *token.nats, *token.nats / std::numbers::ln2);
    std::cout << numbers << "  " << dump(token.text) << '\n';
  }
}

constexpr const char* kTableHead = "   nats    bits  token\n";

void print_mean(double nats, std::int64_t tokens) {
  const double mean = nats / static_cast<double>(tokens);
  std::cout << "mean " << mean << " nats, perplexity " << std::exp(mean) << '\n';
}

void print_text(const SurprisalArguments& arguments) {
  const TrainedLanguageModel run = open_language_model(arguments.run);
  const std::vector<std::int32_t> ids =
      arguments.text.empty() ? prompt_tokens(run, arguments.prompt) : read_tokens(run, arguments.text).ids;
  check(ids.size() >= 2, "surprisal: the text has ", ids.size(), " tokens, at least 2 are needed");
  // Half overlapping windows: every token but the first ones is predicted from at least half a context.
  const std::int64_t context = window_context(*run.model, 0);
  const WindowOptions options{.stride = arguments.stride ? arguments.stride : std::max<std::int64_t>(context / 2, 1)};
  const std::vector<double> nats = surprisals(*run.model, std::span<const std::int32_t>(ids), options);
  std::vector<TokenSurprisal> tokens;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string token(run.tokenizer->token_bytes(ids[i]));
    tokens.push_back({ids[i], token, i ? std::optional(nats[i - 1]) : std::nullopt});
  }
  const double total = std::accumulate(nats.begin(), nats.end(), 0.0);
  if (arguments.json) {
    const double mean = total / static_cast<double>(nats.size());
    std::cout << dump({{"tokens", to_json(tokens)}, {"mean_nats", mean}, {"perplexity", std::exp(mean)}}) << '\n';
    return;
  }
  std::cout << kTableHead;
  print_table(tokens);
  print_mean(total, static_cast<std::int64_t>(nats.size()));
}

// One JSON line, or one table, for each pair.
void print_pairs(const SurprisalArguments& arguments) {
  const TrainedTranslator run = open_translator(arguments.run);
  const PairTokenizers& both = run.tokenizers;
  const ParallelText text = ParallelText::from_files(arguments.source, arguments.target);
  const PairLimits limits = pair_limits(run.config);
  double total = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < text.pairs().size(); ++i) {
    const SentencePair& pair = text.pairs()[i];
    const std::vector<std::int32_t> source = both.source->encode(pair.source),
                                    target = both.target->encode(pair.target);
    const auto most = std::max(source.size(), target.size());
    check(!source.empty() && !target.empty() && static_cast<std::int64_t>(most) <= limits.target, "surprisal: pair ",
          i + 1, " has ", source.size(), " and ", target.size(), " tokens, expected 1 to ", limits.target);
    const std::vector<double> nats = surprisals(*run.model, source, target, both.symbols);
    std::vector<TokenSurprisal> tokens;
    for (std::size_t t = 0; t < nats.size(); ++t) {
      const std::int32_t id = t < target.size() ? target[t] : both.symbols.target.end;
      tokens.push_back({id, std::string(both.target->token_bytes(id)), nats[t]});
      total += nats[t], ++count;
    }
    if (arguments.json) {
      std::cout << dump({{"pair", i + 1}, {"source", std::string(pair.source)}, {"tokens", to_json(tokens)}}) << '\n';
      continue;
    }
    std::cout << (i ? "\n" : "") << pair.source << '\n' << kTableHead;
    print_table(tokens);
  }
  if (!arguments.json) print_mean(total, count);
}

}  // namespace

void add_surprisal_command(CLI::App& app) {
  auto arguments = std::make_shared<SurprisalArguments>();
  CLI::App* command = app.add_subcommand("surprisal", "-log P(token | what is before it), token by token");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  CLI::Option* text = command->add_option("--text", arguments->text, "Text file");
  CLI::Option* prompt = command->add_option("--prompt", arguments->prompt, "The text itself")->excludes(text);
  CLI::Option* source = command->add_option("--source", arguments->source, "File to translate, for an encoder-decoder");
  CLI::Option* target = command->add_option("--target", arguments->target, "Its translation, whose tokens are scored");
  source->excludes(text)->excludes(prompt)->needs(target);
  target->needs(source);
  command->add_option("--stride", arguments->stride, "Tokens between the beginnings of windows [half the context]")
      ->check(at_least(1))
      ->excludes(source);
  command->add_flag("--json", arguments->json, "Print JSON: one object, or one a pair");
  command->callback([arguments] {
    if (!arguments->source.empty()) return print_pairs(*arguments);
    if (arguments->text.empty() && arguments->prompt.empty()) {
      fail_usage("surprisal: expected --text FILE, --prompt TEXT, or --source FILE and --target FILE");
    }
    print_text(*arguments);
  });
}

}  // namespace tapeformer::cli
