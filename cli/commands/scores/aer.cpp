#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/text/lines.h"
#include "data/scores/alignment.h"
#include "data/text/text_files.h"

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
  const auto json = [&] {
    return Json{{"aer", rate.error_rate()},
                {"precision", rate.precision()},
                {"recall", rate.recall()},
                {"links", rate.links()},
                {"sure", rate.sure()}};
  };
  print_result(arguments.json, json, [&] {
    return fmt::format("AER {:.4f} (precision {:.4f}, recall {:.4f}, {} links, {} sure ones)\n", rate.error_rate(),
                       rate.precision(), rate.recall(), rate.links(), rate.sure());
  });
}

}  // namespace

Command aer_command() {
  const auto arguments = std::make_shared<AerArguments>();
  return {.name = "aer",
          .help = "Alignment error rate of word alignments (Och & Ney 2003), in Pharaoh's i-j",
          .options = {{"alignments",
                       &arguments->alignments,
                       "File of alignments, as translate --pharaoh writes them",
                       {.required = true}},
                      {"--reference",
                       &arguments->reference,
                       "File with a reference for each line: sure i-j, possible ipj",
                       {.required = true}},
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { print_error_rate(*arguments); }};
}

}  // namespace tapeformer::cli
