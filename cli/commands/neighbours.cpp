#include "tasks/analysis/neighbours.h"

#include "tasks/analysis/trained_embedder.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/options/usage.h"
#include "cli/terminal/terminal.h"

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

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_neighbours(const NeighboursArguments& arguments) {
  const bool in_text = !arguments.text.empty();
  if (in_text && !arguments.layer) {
    fail_usage("neighbours: --text: expected --layer beside it, since the embedding knows of no text");
  }
  const TrainedEmbedder run = open_run<TrainedEmbedder>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const NeighbourFinder finder(run, arguments.layer);
  Json all = Json::array();
  for (const std::string& word : arguments.words) {
    const std::vector<Neighbour> found =
        in_text ? finder.of_word_in(arguments.text, word, arguments.count) : finder.of_word(word, arguments.count);
    Json list = Json::array();
    for (const Neighbour& neighbour : found) {
      list.push_back({{"id", neighbour.id},
                      {"token", run.tokenizer->token_bytes(neighbour.id)},
                      {"similarity", neighbour.similarity}});
    }
    all.push_back({{"word", word}, {"neighbours", list}});
  }
  if (arguments.json) {
    std::cout << dump({{"words", all}, {"matmul", word_of(kernels::MatmulPrecisionScope::current())}}) << '\n';
    return;
  }
  for (const Json& word : all) {
    if (all.size() > 1) std::cout << (&word == &all.front() ? "" : "\n") << word["word"].get<std::string>() << '\n';
    for (const Json& neighbour : word["neighbours"]) {
      char number[16];
      std::snprintf(number, sizeof(number), "%8.4f", neighbour["similarity"].get<double>());
      std::cout << number << "  " << output_text(dump(neighbour["token"])) << '\n';
    }
  }
}

}  // namespace

void add_neighbours_command(CLI::App& app) {
  auto arguments = std::make_shared<NeighboursArguments>();
  CLI::App* command = app.add_subcommand("neighbours", "The tokens whose vectors are most like those of words");
  add_run_argument(*command, arguments->run);
  command->add_option("words", arguments->words, "Words, or sums of words such as \"king - man + woman\"")->required();
  command->add_option("--k", arguments->count, "Tokens for each word [10]")->check(at_least(1));
  command->add_option("--layer", arguments->layer, "Vectors of tokens in this layer, each alone [the embedding's rows]")
      ->check(at_least(0));
  command->add_option("--text", arguments->text, "A text with the words, whose vectors are taken from it");
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { print_neighbours(*arguments); });
}

}  // namespace tapeformer::cli
