#include "cli/commands/scores/trees.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options/input_lines.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "data/text/text_files.h"
#include "data/trees/bracket_score.h"

namespace tapeformer::cli {
namespace {

struct TreesArguments {
  std::string reference;
  bool json = false;
};

// The form of the input. If the references are flat trees, a text in which nothing ends with a bracket is read as such
// too, line by line, even if a model has written no tree.
TreeForm input_form(std::string_view input, TreeForm of_references) {
  constexpr std::string_view kSpace = " \t\r\n";
  bool ends_with_bracket = false;
  for (std::size_t at = input.find(')'); at != input.npos && !ends_with_bracket; at = input.find(')', at + 1)) {
    ends_with_bracket = at + 1 == input.size() || kSpace.find(input[at + 1]) != kSpace.npos;
  }
  return of_references == TreeForm::flat && !ends_with_bracket ? TreeForm::flat : tree_form(input);
}

void score_trees(const TreesArguments& arguments) {
  const std::string text = read_text_file(arguments.reference);
  const TreeForm form = tree_form(text);
  const std::vector<Bracketing> references = read_trees(text, form);
  for (std::size_t i = 0; i < references.size(); ++i) {
    check(references[i].broken.empty(), arguments.reference, ": tree ", i + 1, ": ", references[i].broken);
  }
  const std::string input = read_input();
  const std::vector<Bracketing> predicted = read_trees(input, input_form(input, form));
  check(predicted.size() == references.size(), "score trees: ", arguments.reference, " has ", references.size(),
        " trees, standard input ", predicted.size(), ": expected a tree for each");
  BracketScore score;
  for (std::size_t i = 0; i < references.size(); ++i) score.add(predicted[i], references[i]);
  const LabelCount total = score.total();
  const double f1 = f1_of(total.precision(), total.recall());
  const auto json = [&] {
    Json labels = Json::object();
    for (const LabelCount& count : score.counts()) {
      labels[count.label] = {
          {"precision", count.precision()}, {"recall", count.recall()}, {"f1", count.f1()}, {"gold", count.gold},
          {"predicted", count.predicted},   {"right", count.right}};
    }
    return Json{{"precision", total.precision()},
                {"recall", total.recall()},
                {"f1", f1},
                {"gold", total.gold},
                {"predicted", total.predicted},
                {"right", total.right},
                {"sentences", score.sentences()},
                {"exact", score.exact()},
                {"broken", score.broken()},
                {"other_words", score.other_words()},
                {"labels", std::move(labels)}};
  };
  print_result(arguments.json, json, [&] {
    return fmt::format(
        "F1 {:.2f} (precision {:.2f}, recall {:.2f}, {} brackets predicted, {} in the reference)\n"
        "{} of {} trees exact, {} broken, {} with other words\n",
        100 * f1, 100 * total.precision(), 100 * total.recall(), total.predicted, total.gold, score.exact(),
        score.sentences(), score.broken(), score.other_words());
  });
}

}  // namespace

Command trees_command() {
  const auto arguments = std::make_shared<TreesArguments>();
  return {.name = "trees",
          .help = "Labelled precision, recall and F1 of the trees on standard input, as EVALB counts them",
          .options = {{"--reference",
                       &arguments->reference,
                       "File with a tree for each line of the input: flat trees, or the Penn Treebank's brackets",
                       {.required = true}},
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { score_trees(*arguments); }};
}

}  // namespace tapeformer::cli
