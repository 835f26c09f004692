#include "tasks/analysis/probe.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/options/usage.h"
#include "cli/terminal/progress_line.h"

namespace tapeformer::cli {
namespace {

struct ProbeArguments {
  ModelSource run;
  std::string train, valid;
  std::optional<MatmulSetting> matmul;
  ProbeOptions options;
  bool json = false;
};

void print_probe(const ProbeArguments& arguments) {
  const TrainedTextModel run = open_run<TrainedTextModel>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const LabelledText train = LabelledText::from_file(arguments.train), valid = LabelledText::from_file(arguments.valid);
  const ProbeResult result =
      probe(*run.model, *run.tokenizer, train, valid, arguments.options, show_progress("probing"));
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"labels", result.labels},
                                        {"train_words", result.train_words},
                                        {"valid_words", result.valid_words},
                                        {"accuracy", result.accuracy},
                                        {"majority", result.majority},
                                        {"layers", result.shares},
                                        {"gamma", result.gamma},
                                        {"matmul", word_of(kernels::MatmulPrecisionScope::current())}}
              << '\n';
    return;
  }
  std::cout << "words     " << result.train_words << " to learn from, " << result.valid_words << " scored, "
            << result.labels.size() << " labels\n";
  std::printf("accuracy  %.2f %% (always the most frequent label: %.2f %%)\n", 100 * result.accuracy,
              100 * result.majority);
  std::printf("layers   ");
  for (const double share : result.shares) std::printf(" %.3f", share);
  std::printf("%s, times %.3f\n", result.shares.size() > 1 ? " (the embedding's share first)" : "", result.gamma);
}

}  // namespace

void add_probe_command(CLI::App& app) {
  auto arguments = std::make_shared<ProbeArguments>();
  ProbeOptions& options = arguments->options;
  CLI::App* command =
      app.add_subcommand("probe", "Learn labels of words from a frozen model's layers, and say what they give");
  add_run_argument(*command, arguments->run);
  command
      ->add_option("--train", arguments->train,
                   "Labelled words: a line each, word, tab, label; an empty line ends "
                   "a sentence; a word without a label is not scored")
      ->required();
  command->add_option("--valid", arguments->valid, "The same, for the accuracy")->required();
  command->add_option("--layer", options.layer, "Only this layer (0 = the embedding) [a learned mixture of all]")
      ->check(at_least(0));
  command->add_option("--steps", options.steps, "Training steps of the classifier [2000]")->check(at_least(1));
  command->add_option("--seed", options.seed, "Seed of its batches [1]")->check(at_least(0));
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { print_probe(*arguments); });
}

}  // namespace tapeformer::cli
