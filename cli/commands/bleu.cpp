#include "data/scores/bleu.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "core/error.h"
#include "core/text/lines.h"
#include "data/text/text.h"
#include "train/config/config_words.h"

namespace tapeformer::cli {
namespace {

struct BleuArguments {
  std::string reference, tokenize = "13a";
  bool json = false;
};

void print_bleu(const BleuArguments& arguments) {
  const std::string reference = read_text_file(arguments.reference);
  const std::vector<std::string_view> references = split_lines(reference);
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  const std::vector<std::string_view> hypotheses = split_lines(input);
  check(hypotheses.size() == references.size(), "bleu: ", arguments.reference, " has ", references.size(),
        " lines, standard input ", hypotheses.size(), ": expected a hypothesis for each");
  Bleu bleu(value_of<BleuTokenization>(arguments.tokenize));
  for (std::size_t i = 0; i < references.size(); ++i) bleu.add(hypotheses[i], references[i]);

  const BleuScore score = bleu.score();
  const auto& p = score.precisions;
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"bleu", score.score},
                                        {"precisions", p},
                                        {"brevity_penalty", score.brevity_penalty},
                                        {"hypothesis_length", score.hypothesis_words},
                                        {"reference_length", score.reference_words},
                                        {"signature", bleu.signature()}}
              << '\n';
    return;
  }
  char line[200];
  std::snprintf(line, sizeof(line), "%.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)",
                score.score, p[0], p[1], p[2], p[3], score.brevity_penalty,
                static_cast<double>(score.hypothesis_words) / static_cast<double>(score.reference_words),
                static_cast<long long>(score.hypothesis_words), static_cast<long long>(score.reference_words));
  std::cout << "BLEU|" << bleu.signature() << " = " << line << '\n';
}

}  // namespace

void add_bleu_command(CLI::App& app) {
  auto arguments = std::make_shared<BleuArguments>();
  CLI::App* command =
      app.add_subcommand("bleu", "Corpus BLEU of the hypotheses on standard input, as sacreBLEU computes it");
  command->add_option("--reference", arguments->reference, "File with a reference for each line of the input")
      ->required();
  command->add_option("--tokenize", arguments->tokenize, "How lines become words: 13a, or none (at spaces) [13a]")
      ->check(CLI::IsMember({"13a", "none"}));
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { print_bleu(*arguments); });
}

}  // namespace tapeformer::cli
