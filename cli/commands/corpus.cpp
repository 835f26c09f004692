#include "data/synthetic/corpora.h"

#include <memory>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text/joined.h"
#include "data/synthetic/mappings.h"
#include "train/run/disk.h"

namespace tapeformer::cli {
namespace {

constexpr std::int64_t kMaxRow = 250'000;  // the optimum is averaged over this many letters (masked_optimum())

struct CorpusArguments {
  std::string name;
  std::int64_t lines = 1000;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> row;
  bool labels = false;
  bool alignment = false;
  bool analogies = false;
  std::string images;
  bool viterbi = false;
  std::optional<std::int64_t> shots;
};

// Prints questions whose prompts have --shots examples each.
void print_questions(const CorpusArguments& arguments) {
  if (arguments.name != "mappings") fail_usage("corpus: --shots: expected mappings, got ", arguments.name);
  const int shots = static_cast<int>(*arguments.shots);
  for (std::int64_t line = 0; line < arguments.lines; ++line) {
    const RandomKey key{.seed = arguments.seed, .step = static_cast<std::uint32_t>(line), .stream = mix64(shots)};
    RandomStream random(key);
    print_text(mappings_question(random, shots));
  }
  log_info("mappings: the Bayes posterior answers {:.2f} % of the questions with {} examples right",
           100 * mappings_accuracy(shots), shots);
}

// Writes the images of a corpus and the list of their captions to a new folder, as data.images reads it.
void write_images(const CorpusArguments& arguments) {
  const std::filesystem::path folder = arguments.images;
  corpus_image(arguments.name, 0, arguments.seed);  // throws for a corpus without images
  if (is_there(folder)) fail_usage("corpus: --images: expected a folder that is not there yet, got ", folder.string());
  write_folder(folder, [&](const std::filesystem::path& unfinished) {
    std::string captions;
    for (std::int64_t line = 0; line < arguments.lines; ++line) {
      const CaptionedImage image = corpus_image(arguments.name, line, arguments.seed);
      const std::string file = fmt::format("{:06}.png", line + 1);
      write_file_atomically(unfinished / file, png_bytes(image.image));
      captions += captions_line(file, image);
    }
    write_file_atomically(unfinished / kCaptionsFile, captions);
  });
  log_info("{}: {} images and {}", folder.string(), arguments.lines, kCaptionsFile);
}

void print_corpus(const CorpusArguments& arguments) {
  if (arguments.analogies) return print_text(corpus_analogies(arguments.name));
  if (!arguments.images.empty()) return write_images(arguments);
  if (arguments.shots) return print_questions(arguments);
  std::optional<MaskedOptimum> masked;
  if (arguments.row) {
    masked = corpus_masked_optimum(arguments.name, *arguments.row, {});
    if (!masked) {
      fail_usage("corpus: --row: expected none for ", arguments.name, ", whose masked optimum is not known");
    }
  }
  const auto line_of = arguments.alignment ? corpus_alignment
                       : arguments.labels  ? labelled_corpus_line
                       : arguments.viterbi ? most_probable_tree
                                           : corpus_line;
  const std::optional<double> entropy = corpus_entropy(arguments.name);
  for (std::int64_t line = 0; line < arguments.lines; ++line) {
    print_text(line_of(arguments.name, line, arguments.seed));
  }
  if (arguments.alignment) return;
  if (entropy) log_info("{}: entropy rate {:.4f} nats per character", arguments.name, *entropy);
  if (masked) {
    log_info("{}: masked optimum {:.4f} nats per chosen letter, {:.2f} % right, in rows of {} letters", arguments.name,
             masked->nats, 100 * masked->accuracy, *arguments.row);
  }
}

}  // namespace

Command corpus_command() {
  const auto arguments = std::make_shared<CorpusArguments>();
  return {
      .name = "corpus",
      .help = "Print a generated corpus: plain text, or source and target separated by a tab",
      .options =
          {{"name", &arguments->name, "Which: " + joined(corpus_names(), ", "), {.required = true}},
           {"--lines", &arguments->lines, "Lines [1000]", {.least = 1}},
           {"--seed", &arguments->seed, "The same seed gives the same text [1]", {.least = 0}},
           {"--row",
            &arguments->row,
            "Of markov: letters of a row, whose optimum of masked letters is printed on standard error",
            {.least = 1, .most = kMaxRow}},
           {"--labels", &arguments->labels,
            "Of stories, tales, cloze and senses: the words, one a line, with their labels, as probe reads them; "
            "of recall: the digit as the label of the text behind it"},
           {"--images",
            &arguments->images,
            "Of shapes: a new folder for its images as .png files and their captions, instead of the text",
            {.excludes = {"--row", "--labels", "--alignment"}}},
           {"--alignment",
            &arguments->alignment,
            "Print which character goes with which, in Pharaoh's i-j, instead of the text (reverse has that)",
            {.excludes = {"--labels"}}},
           {"--analogies",
            &arguments->analogies,
            "Print the analogies of its words, as neighbours --analogies reads them, instead of the text (relations "
            "has them)",
            {.excludes = {"--labels", "--alignment", "--row", "--images", "--lines", "--seed"}}},
           {"--viterbi",
            &arguments->viterbi,
            "Of parse and parse-ambiguous: the most probable tree of each sentence under the grammar, instead of "
            "the text",
            {.excludes = {"--labels", "--alignment", "--row", "--images", "--analogies"}}},
           {"--shots",
            &arguments->shots,
            "Of mappings: questions for score --lines, with so many examples in the prompt, instead of the text; "
            "the best possible accuracy is printed on standard error",
            {.least = 0,
             .most = kMappingPairs - 1,
             .excludes = {"--labels", "--alignment", "--row", "--images", "--analogies", "--viterbi"}}}},
      .run = [arguments] { print_corpus(*arguments); }};
}

}  // namespace tapeformer::cli
