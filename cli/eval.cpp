#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"
#include "train/translation_evaluation.h"

namespace tapeformer::cli {
namespace {

struct EvalArguments {
  std::string run, text, source, target;
  std::int64_t stride = 0, context = 0, batch = 16;
  bool json = false;
};

void print_table(const Evaluation& result, std::int64_t bytes) {
  std::cout << "bytes          " << bytes << '\n'
            << "loss           " << result.loss() << " nats per token\n"
            << "perplexity     " << result.perplexity() << '\n'
            << "bits per byte  " << result.bits_per_byte(bytes) << '\n';
}

nlohmann::ordered_json measures(const Evaluation& result, std::int64_t bytes) {
  return {{"tokens", result.tokens},
          {"bytes", bytes},
          {"loss", result.loss()},
          {"perplexity", result.perplexity()},
          {"bits_per_byte", result.bits_per_byte(bytes)}};
}

void evaluate_text(const EvalArguments& arguments) {
  const TrainedLanguageModel run = open_language_model(arguments.run);
  const EncodedText text = read_tokens(run, arguments.text);
  const std::vector<std::int32_t>& ids = text.ids;
  check(ids.size() >= 2, arguments.text, ": has ", ids.size(), " tokens, at least 2 are needed");
  WindowOptions options{.context = arguments.context, .stride = arguments.stride, .batch = arguments.batch};
  options.context = window_context(*run.model, options.context);
  if (options.stride == 0) options.stride = options.context;
  const Evaluation result =
      evaluate(*run.model, std::span<const std::int32_t>(ids), options, show_progress("evaluating"));
  require_finite(result);

  if (arguments.json) {
    nlohmann::ordered_json json = measures(result, text.bytes);
    json.update({{"context", options.context}, {"stride", options.stride}});
    std::cout << json << '\n';
    return;
  }
  std::cout << "tokens         " << result.tokens << " scored of " << ids.size()
            << " (the first has nothing before it)\n";
  print_table(result, text.bytes);
  std::cout << "context        " << options.context << ", stride " << options.stride << ", step " << run.step << '\n';
}

void evaluate_pairs(const EvalArguments& arguments) {
  const TrainedTranslator run = open_translator(arguments.run);
  const ParallelText text = ParallelText::from_files(arguments.source, arguments.target);
  const PairLimits limits = pair_limits(run.config);
  const TokenPairs pairs = encode_text(text, text.pairs(), run.tokenizers, run.config);
  const std::int64_t skipped = pairs.skipped().total();
  if (skipped > 0) {
    spdlog::warn("{} of {} pairs are not scored: {}", skipped, text.pairs().size(), describe(pairs.skipped(), limits));
  }
  const Evaluation result = evaluate(*run.model, pairs, run.tokenizers.symbols, {.sentences = arguments.batch}, 0,
                                     show_progress("evaluating"));
  require_finite(result);
  if (arguments.json) {
    nlohmann::ordered_json json = measures(result, pairs.target_bytes());
    // The keys of a text's evaluation as well: a sentence is one window.
    if (const auto context = run.model->context()) json.update({{"context", *context}, {"stride", *context}});
    json.update({{"pairs", pairs.size()}, {"skipped", skipped}});
    std::cout << json << '\n';
    return;
  }
  std::cout << "pairs          " << pairs.size() << " scored, " << skipped << " skipped\n"
            << "tokens         " << result.tokens << " of the target, with the ends of its sentences\n";
  print_table(result, pairs.target_bytes());
  std::cout << "step           " << run.step << '\n';
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Loss, perplexity and bits per byte of a text, or of translations");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  CLI::Option* text = command->add_option("--text", arguments->text, "Text file, for a language model");
  CLI::Option* source =
      command->add_option("--source", arguments->source, "File to translate, for an encoder-decoder")->excludes(text);
  CLI::Option* target = command->add_option("--target", arguments->target, "Its translation, line by line");
  source->needs(target);
  target->needs(source);
  command
      ->add_option("--stride", arguments->stride,
                   "Tokens between the beginnings of windows; smaller is slower and sees more context [the context]")
      ->check(at_least(1))
      ->excludes(source);
  command->add_option("--context", arguments->context, "Tokens of a window [the model's]")
      ->check(at_least(1))
      ->excludes(source);
  command->add_option("--batch", arguments->batch, "Windows, or sentences, at once [16]")->check(at_least(1));
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] {
    if (!arguments->source.empty()) return evaluate_pairs(*arguments);
    if (arguments->text.empty()) fail_usage("eval: expected --text FILE, or --source FILE and --target FILE");
    evaluate_text(*arguments);
  });
}

}  // namespace tapeformer::cli
