#include "data/scores/bleu.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/input_lines.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/text/lines.h"
#include "data/text/text_files.h"
#include "train/config/config_words.h"

namespace tapeformer::cli {
namespace {

struct BleuArguments {
  std::string reference;
  BleuTokenization tokenize = BleuTokenization::v13a;
  bool json = false;
};

void print_bleu(const BleuArguments& arguments) {
  const std::string reference = read_text_file(arguments.reference);
  const std::vector<std::string_view> references = split_lines(reference);
  const std::string input = read_input();
  const std::vector<std::string_view> hypotheses = split_lines(input);
  check(hypotheses.size() == references.size(), "bleu: ", arguments.reference, " has ", references.size(),
        " lines, standard input ", hypotheses.size(), ": expected a hypothesis for each");
  Bleu bleu(arguments.tokenize);
  for (std::size_t i = 0; i < references.size(); ++i) bleu.add(hypotheses[i], references[i]);

  const BleuScore score = bleu.score();
  const auto& p = score.precisions;
  const auto json = [&] {
    return Json{{"bleu", score.score},
                {"precisions", p},
                {"brevity_penalty", score.brevity_penalty},
                {"hypothesis_length", score.hypothesis_words},
                {"reference_length", score.reference_words},
                {"signature", bleu.signature()}};
  };
  print_result(arguments.json, json, [&] {
    const auto words = static_cast<double>(score.reference_words);
    const double ratio = words > 0 ? static_cast<double>(score.hypothesis_words) / words : 0;  // as sacreBLEU has it
    return fmt::format(
        "BLEU|{} = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})\n",
        bleu.signature(), score.score, p[0], p[1], p[2], p[3], score.brevity_penalty, ratio, score.hypothesis_words,
        score.reference_words);
  });
}

}  // namespace

Command bleu_command() {
  const auto arguments = std::make_shared<BleuArguments>();
  return {.name = "bleu",
          .help = "Corpus BLEU of the hypotheses on standard input, as sacreBLEU computes it",
          .options = {{"--reference",
                       &arguments->reference,
                       "File with a reference for each line of the input",
                       {.required = true}},
                      word_option("--tokenize", arguments->tokenize,
                                  "How lines become words: 13a, or none (at spaces) [13a]"),
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { print_bleu(*arguments); }};
}

}  // namespace tapeformer::cli
