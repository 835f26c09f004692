#include "tasks/analysis/probe.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer::cli {
namespace {

struct ProbeArguments {
  RunSelection run;
  std::string train, valid;
  std::optional<MatmulSetting> matmul;
  ProbeOptions options;
  bool json = false;
};

Json json_of(const ProbeResult& result) {
  Json json{{"labels", result.labels}, {"train_words", result.train_words}, {"valid_words", result.valid_words}};
  if (result.unknown_labels > 0) json["unknown_labels"] = result.unknown_labels;
  json.update({{"accuracy", result.accuracy},
               {"majority", result.majority},
               {"layers", result.shares},
               {"gamma", result.gamma},
               {"matmul", word_of(kernels::MatmulPrecisionScope::current())}});
  return json;
}

std::string text_of(const ProbeResult& result) {
  std::string shares;
  for (const double share : result.shares) shares += fmt::format("{}{:.3f}", shares.empty() ? "" : " ", share);
  Table table({{.width = 8, .gap = 0}, {}});
  const std::string unknown = result.unknown_labels > 0
                                  ? fmt::format(" ({} with labels that none of the former has)", result.unknown_labels)
                                  : "";
  table.add({"words", fmt::format("{} to learn from, {} scored{}, {} labels", result.train_words, result.valid_words,
                                  unknown, result.labels.size())});
  table.add({"accuracy", fmt::format("{:.2f} % (always the most frequent label: {:.2f} %)", 100 * result.accuracy,
                                     100 * result.majority)});
  table.add({"layers", fmt::format("{}{}, times {:.3f}", shares,
                                   result.shares.size() > 1 ? " (the embedding's share first)" : "", result.gamma)});
  return table.text();
}

void print_probe(const ProbeArguments& arguments) {
  const TrainedEmbedder run = open_run<TrainedEmbedder>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const LabelledText train = LabelledText::from_file(arguments.train), valid = LabelledText::from_file(arguments.valid);
  const ProbeResult result =
      probe(*run.model, *run.tokenizer, run, train, valid, arguments.options, show_progress("probing"));
  warn_of_unknown(result.unknown_tokens, result.tokens, *run.tokenizer, "the sentences");
  print_result(
      arguments.json, [&] { return json_of(result); }, [&] { return text_of(result); });
}

}  // namespace

Command probe_command() {
  const auto arguments = std::make_shared<ProbeArguments>();
  ProbeOptions& options = arguments->options;
  return {.name = "probe",
          .help = "Learn labels of words from a frozen model's layers, and say what they give",
          .options = {run_argument(arguments->run),
                      checkpoint_option(arguments->run),
                      {"--train",
                       &arguments->train,
                       "Labelled words: a line each, word, tab, label; an empty line ends a sentence; a word without a "
                       "label is not scored",
                       {.required = true}},
                      {"--valid", &arguments->valid, "The same, for the accuracy", {.required = true}},
                      {"--layer",
                       &options.layer,
                       "Only this layer (0 = the embedding) [a learned mixture of all]",
                       {.least = 0}},
                      {"--steps", &options.steps, "Training steps of the classifier [2000]", {.least = 1}},
                      {"--seed", &options.seed, "Seed of its batches [1]", {.least = 0}},
                      matmul_option(arguments->matmul),
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { print_probe(*arguments); }};
}

}  // namespace tapeformer::cli
