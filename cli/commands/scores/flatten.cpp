#include <memory>

#include "cli/commands/commands.h"
#include "cli/options/input_lines.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/text/joined.h"
#include "data/trees/bracketing.h"

namespace tapeformer::cli {
namespace {

void flatten_input(bool back) {
  const std::string input = read_input();
  const std::vector<Bracketing> trees = read_trees(input, tree_form(input));
  for (std::size_t i = 0; i < trees.size(); ++i) {
    // A word that only the root holds, which flat trees leave out, would be outside of all their brackets.
    const std::string broken =
        trees[i].broken.empty() && !back ? read_flat_tree(flat_text(trees[i])).broken : trees[i].broken;
    check(broken.empty(), "flatten: tree ", i + 1, ": ", broken);
  }
  for (const Bracketing& tree : trees) {
    print_text(
        output_text(back ? treebank_text(tree) + '\n' : str_cat(joined(tree.words, " "), '\t', flat_text(tree), '\n')));
  }
}

}  // namespace

Command flatten_command() {
  const auto back = std::make_shared<bool>(false);
  return {.name = "flatten",
          .help = "Print the trees on standard input as lines for training: sentence, tab, flat tree",
          .options = {{"--back", back.get(), "Print them with the brackets of the Penn Treebank instead"}},
          .run = [back] { flatten_input(*back); }};
}

}  // namespace tapeformer::cli
