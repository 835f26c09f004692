#include "data/synthetic/corpora.h"

#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/options/usage.h"
#include "core/error.h"

namespace tapeformer::cli {

constexpr std::int64_t kMaxRow = 250'000;  // the number of letters over which the optimum is averaged

void add_corpus_command(CLI::App& app) {
  struct Arguments {
    std::string name;
    std::int64_t lines = 1000;
    std::uint64_t seed = 1;
    std::optional<std::int64_t> row;
    bool labels = false;
    bool alignment = false;
  };
  auto arguments = std::make_shared<Arguments>();
  std::string names;
  for (std::string_view name : corpus_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  CLI::App* command =
      app.add_subcommand("corpus", "Print a generated corpus: plain text, or source and target separated by a tab");
  command->add_option("name", arguments->name, "Which: " + names)->required();
  command->add_option("--lines", arguments->lines, "Lines [1000]")->check(at_least(1));
  command->add_option("--seed", arguments->seed, "The same seed gives the same text [1]")->check(at_least(0));
  command
      ->add_option("--row", arguments->row,
                   "Of markov: letters of a row, whose optimum of masked letters is printed on standard error")
      ->check(between(1, kMaxRow));
  command->add_flag(
      "--labels", arguments->labels,
      "Of stories, tales, cloze and senses: the words, one a line, with their labels, as probe reads them; of "
      "recall: the digit as the label of the text behind it");
  command->add_flag("--alignment", arguments->alignment,
                    "Print which character goes with which, in Pharaoh's i-j, instead of the text (reverse has that)");
  command->callback([arguments] {
    std::optional<MaskedOptimum> masked;
    if (arguments->row) {
      masked = corpus_masked_optimum(arguments->name, *arguments->row, {});
      if (!masked) {
        fail_usage("corpus: --row: expected none for ", arguments->name, ", whose masked optimum is not known");
      }
    }
    if (arguments->alignment) {
      for (std::int64_t line = 0; line < arguments->lines; ++line) {
        std::cout << corpus_alignment(arguments->name, line, arguments->seed);
      }
      return;
    }
    const auto line_of = arguments->labels ? labelled_corpus_line : corpus_line;
    const std::optional<double> entropy = corpus_entropy(arguments->name);
    for (std::int64_t line = 0; line < arguments->lines; ++line) {
      std::cout << line_of(arguments->name, line, arguments->seed);
    }
    if (entropy) spdlog::info("{}: entropy rate {:.4f} nats per character", arguments->name, *entropy);
    if (masked) {
      spdlog::info("{}: masked optimum {:.4f} nats per chosen letter, {:.2f} % right, in rows of {} letters",
                   arguments->name, masked->nats, 100 * masked->accuracy, *arguments->row);
    }
  });
}

}  // namespace tapeformer::cli
