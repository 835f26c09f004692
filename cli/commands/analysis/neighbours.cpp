#include "tasks/analysis/neighbours.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/results.h"
#include "cli/terminal/scored_tokens.h"
#include "tasks/analysis/analogies.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer::cli {
namespace {

struct NeighboursArguments {
  RunSelection run;
  std::string text, analogies;
  std::vector<std::string> words, questions;
  std::optional<MatmulSetting> matmul;
  std::optional<std::int64_t> layer;
  std::int64_t count = 10;
  bool json = false;
};

// A word or an analogy that was asked for, and the tokens that answer it, the nearest first.
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

Json json_of(const AnalogyScore& score) {
  return {{"questions", score.questions},
          {"unknown", score.unknown},
          {"right", score.right},
          {"accuracy", score.questions > 0 ? Json(score.accuracy()) : Json(nullptr)}};
}

Json json_of(const std::vector<AnalogyScore>& sections) {
  Json all = Json::array();
  for (const AnalogyScore& section : sections) {
    all.push_back({{"section", section.section}});
    all.back().update(json_of(section));
  }
  Json json = json_of(total(sections));
  json["sections"] = all;
  json["matmul"] = word_of(kernels::MatmulPrecisionScope::current());
  return json;
}

std::string text_of(const std::vector<AnalogyScore>& sections) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const AnalogyScore& score) {
    const std::string share = score.questions > 0 ? fmt::format("{:.2f} %", 100 * score.accuracy()) : "";
    const std::string unknown = score.unknown > 0 ? fmt::format(", {} with unknown words", score.unknown) : "";
    rows.push_back({name, share, fmt::format("{} of {} right{}", score.right, score.questions, unknown)});
  };
  if (sections.size() > 1) {
    for (const AnalogyScore& section : sections) add(section.section, section);
  }
  add("analogies", total(sections));
  return output_text(Table::fitted(rows).text());
}

void print_analogies(const NeighboursArguments& arguments) {
  const TrainedEmbedder run = open_run<TrainedEmbedder>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const NeighbourFinder finder(run, arguments.layer);
  const std::vector<AnalogyScore> sections = score_analogies(finder, *run.tokenizer, arguments.analogies);
  print_result(
      arguments.json, [&] { return json_of(sections); }, [&] { return text_of(sections); });
}

void print_neighbours(const NeighboursArguments& arguments) {
  if (!arguments.analogies.empty()) return print_analogies(arguments);
  if (arguments.words.empty() && arguments.questions.empty())
    fail_usage("neighbours: expected words, --analogy A:B::C or --analogies FILE, got none");
  std::vector<Analogy> questions;
  for (const std::string& question : arguments.questions) questions.push_back(parse_analogy(question));
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
  for (std::size_t i = 0; i < questions.size(); ++i) {
    words.push_back({arguments.questions[i], answer(finder, questions[i], arguments.count)});
  }
  if (in_text) warn_of_unknown(text_tokens(*run.tokenizer, arguments.text), *run.tokenizer, "the text");
  print_result(
      arguments.json, [&] { return json_of(words, *run.tokenizer); },
      [&] { return output_text(text_of(words, *run.tokenizer)); });
}

}  // namespace

Command neighbours_command() {
  const auto arguments = std::make_shared<NeighboursArguments>();
  return {.name = "neighbours",
          .help = "The tokens whose vectors are most like those of words",
          .options = {run_argument(arguments->run),
                      checkpoint_option(arguments->run),
                      {"words", &arguments->words, "Words, or sums of words such as \"king - man + woman\""},
                      {"--analogy",
                       &arguments->questions,
                       "What is to the third word as the second to the first, such as man:king::woman",
                       {.excludes = {"--text"}, .values = ListValues::one_each}},
                      {"--analogies",
                       &arguments->analogies,
                       "File with lines of four words: the share of analogies whose last word is the nearest",
                       {.excludes = {"words", "--analogy", "--text", "--k"}}},
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
