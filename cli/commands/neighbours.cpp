#include "tasks/analysis/neighbours.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/scored_tokens.h"
#include "cli/options/run_model.h"
#include "cli/terminal/results.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer::cli {
namespace {

struct NeighboursArguments {
  ModelSource run;
  std::string text;
  std::vector<std::string> words;
  std::optional<MatmulSetting> matmul;
  std::optional<std::int64_t> layer;
  std::int64_t count = 10;
  bool json = false;
};

// A word, and the tokens that are nearest to it, the nearest first.
struct Found {
  std::string word;
  std::vector<Neighbour> neighbours;
};

Json json_of(const std::vector<Found>& words, const Tokenizer& tokenizer) {
  Json all = Json::array();
  for (const Found& found : words) {
    all.push_back({{"word", found.word}, {"neighbours", tokens_json(found.neighbours, tokenizer, "similarity")}});
  }
  return {{"words", all}, {"matmul", word_of(kernels::MatmulPrecisionScope::current())}};
}

std::string text_of(const std::vector<Found>& words, const Tokenizer& tokenizer) {
  std::string text;
  for (const Found& found : words) {
    if (words.size() > 1) text += str_cat(text.empty() ? "" : "\n", found.word, "\n");
    text += tokens_text(found.neighbours, tokenizer);
  }
  return text;
}

void print_neighbours(const NeighboursArguments& arguments) {
  const bool in_text = !arguments.text.empty();
  if (in_text && !arguments.layer) {
    fail_usage("neighbours: --text: expected --layer beside it, since the embedding knows of no text");
  }
  const TrainedEmbedder run = open_run<TrainedEmbedder>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const NeighbourFinder finder(run, arguments.layer);
  std::vector<Found> words;
  for (const std::string& word : arguments.words) {
    words.push_back({word, in_text ? finder.of_word_in(arguments.text, word, arguments.count)
                                   : finder.of_word(word, arguments.count)});
  }
  print_result(
      arguments.json, [&] { return json_of(words, *run.tokenizer); }, [&] { return text_of(words, *run.tokenizer); });
}

}  // namespace

Command neighbours_command() {
  const auto arguments = std::make_shared<NeighboursArguments>();
  return {.name = "neighbours",
          .help = "The tokens whose vectors are most like those of words",
          .options = {run_argument(arguments->run),
                      checkpoint_option(arguments->run),
                      {"words",
                       &arguments->words,
                       "Words, or sums of words such as \"king - man + woman\"",
                       {.required = true}},
                      {"--k", &arguments->count, "Tokens for each word [10]", {.least = 1}},
                      {"--layer",
                       &arguments->layer,
                       "Vectors of tokens in this layer, each alone [the embedding's rows]",
                       {.least = 0}},
                      {"--text", &arguments->text, "A text with the words, whose vectors are taken from it"},
                      matmul_option(arguments->matmul),
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { print_neighbours(*arguments); }};
}

}  // namespace tapeformer::cli
