#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "core/error.h"
#include "core/text/lines.h"
#include "data/scores/alignment.h"
#include "data/text/text.h"

namespace tapeformer::cli {
namespace {

struct AerArguments {
  std::string reference, alignments;
  bool json = false;
};

std::vector<Alignment> read_alignments(const std::string& file) {
  const std::string text = read_text_file(file);
  std::vector<Alignment> alignments;
  for (const std::string_view line : split_lines(text)) {
    try {
      alignments.push_back(parse_alignment(line));
    } catch (const Error& error) {
      fail(file, ": line ", alignments.size() + 1, ": ", error.what());
    }
  }
  return alignments;
}

void print_error_rate(const AerArguments& arguments) {
  const std::vector<Alignment> references = read_alignments(arguments.reference);
  const std::vector<Alignment> alignments = read_alignments(arguments.alignments);
  check(alignments.size() == references.size(), "aer: ", arguments.reference, " has ", references.size(), " lines, ",
        arguments.alignments, " ", alignments.size(), ": expected an alignment for each");
  AlignmentErrorRate rate;
  for (std::size_t i = 0; i < references.size(); ++i) rate.add(alignments[i], references[i]);
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"aer", rate.error_rate()},
                                        {"precision", rate.precision()},
                                        {"recall", rate.recall()},
                                        {"links", rate.links()},
                                        {"sure", rate.sure()}}
              << '\n';
    return;
  }
  std::printf("AER %.4f (precision %.4f, recall %.4f, %lld links, %lld sure ones)\n", rate.error_rate(),
              rate.precision(), rate.recall(), static_cast<long long>(rate.links()),
              static_cast<long long>(rate.sure()));
}

}  // namespace

void add_aer_command(CLI::App& app) {
  auto arguments = std::make_shared<AerArguments>();
  CLI::App* command =
      app.add_subcommand("aer", "Alignment error rate of word alignments (Och & Ney 2003), in Pharaoh's i-j");
  command->add_option("alignments", arguments->alignments, "File of alignments, as translate --pharaoh writes them")
      ->required();
  command
      ->add_option("--reference", arguments->reference, "File with a reference for each line: sure i-j, possible ipj")
      ->required();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { print_error_rate(*arguments); });
}

}  // namespace tapeformer::cli
