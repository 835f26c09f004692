#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/options/decoding_options.h"
#include "cli/options/input_lines.h"
#include "cli/options/page_option.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/files.h"
#include "core/text/utf8.h"
#include "data/scores/alignment.h"
#include "data/text/encode_text.h"
#include "generate/alignment/aligner.h"
#include "generate/bracket_grammar.h"
#include "generate/line_translator.h"
#include "report/tree_page.h"
#include "tasks/translation/trained_translator.h"

namespace tapeformer::cli {
namespace {

struct TranslateArguments {
  RunSelection run;
  std::optional<MatmulSetting> matmul;
  SearchArguments search;
  std::string alignments, pharaoh, trees;  // output files
  std::string grammar;                     // "brackets", or empty: any text
  AlignmentHeads heads;
};

// Writes the alignment of the best translation of each input line, one line for each: to one file the attention weights
// as JSON, to another, in Pharaoh's format i-j, the source token with the largest weight for each target token. A page
// shows the translations as trees.
class AlignmentWriter {
 public:
  explicit AlignmentWriter(const TranslateArguments& arguments) : heads_(arguments.heads), trees_(arguments.trees) {
    if (!arguments.alignments.empty()) json_.emplace(arguments.alignments);
    if (!arguments.pharaoh.empty()) pharaoh_.emplace(arguments.pharaoh);
  }

  void write(const TrainedTranslator& run, const LineTranslation& line) {
    if (!json_ && !pharaoh_ && trees_.empty()) return;
    const PairTokenizers& both = run.tokenizers;
    std::vector<std::vector<double>> weights;
    if (!line.source.empty()) weights = align(*run.model, line.source, line.target, both.symbols, heads_);
    if (!trees_.empty()) texts_.push_back(tree_text(*both.source, line.source, *both.target, line.target, weights));
    if (json_) {
      const auto tokens = [&](const Tokenizer& tokenizer, std::vector<std::int32_t> ids, std::int32_t end) {
        if (!line.source.empty()) ids.push_back(end);
        auto list = nlohmann::ordered_json::array();
        for (const std::int32_t id : ids) list.push_back(tokenizer.token_bytes(id));
        return list;
      };
      json_->append(json_text({{"source", tokens(*both.source, line.source, both.symbols.source.end)},
                               {"target", tokens(*both.target, line.target, both.symbols.target.end)},
                               {"weights", weights}}) +
                    '\n');
    }
    if (pharaoh_) pharaoh_->append(format_alignment(links_of(weights)) + '\n');
  }

  // Renames the files to their final names, when all lines have been translated.
  void commit() {
    if (json_) json_->commit();
    if (pharaoh_) pharaoh_->commit();
    if (!trees_.empty()) write_file_atomically(trees_, tree_page("Trees", texts_));
  }

 private:
  // A target token whose largest weight is on the source's end is not linked to any token.
  static std::vector<AlignmentLink> links_of(const std::vector<std::vector<double>>& weights) {
    std::vector<AlignmentLink> links;
    for (std::int64_t target = 0; target + 1 < std::ssize(weights); ++target) {
      const std::vector<double>& row = weights[target];
      const std::int64_t source = std::ranges::max_element(row) - row.begin();
      if (source + 1 < std::ssize(row)) links.push_back({source, target});
    }
    return links;
  }

  AlignmentHeads heads_;
  std::string trees_;
  std::vector<TreeText> texts_;
  std::optional<AtomicFile> json_, pharaoh_;
};

// Sets the grammar of `options` such that each line becomes a tree over its words. `first` is the number of the first
// line, for error messages.
void use_brackets(const BracketVocabulary& vocabulary, std::span<const std::string_view> lines, std::int64_t first,
                  TranslateOptions& options) {
  options.grammar = [&vocabulary, lines, first](std::size_t line, std::int64_t most) {
    try {
      return std::make_shared<const BracketGrammar>(vocabulary, lines[line], most);
    } catch (const Error& error) {
      fail("line ", first + static_cast<std::int64_t>(line), ": ", error.what());
    }
  };
}

// Translates lines, of which the first has this number. If a user types them, a line that cannot be translated becomes
// an empty one, with a warning.
std::vector<LineTranslation> translated(const TrainedTranslator& run, std::span<const std::string_view> lines,
                                        const TranslateOptions& options, std::int64_t first, bool typed) {
  const PairTokenizers& both = run.tokenizers;
  try {
    return translate_lines(*run.model, *both.source, *both.target, both.symbols, lines, options, first);
  } catch (const Error& error) {
    if (!typed) throw;
    log_warning("not translated: {}", error.what());
    LineTranslation none;
    none.texts = {""}, none.scores = {0};
    return std::vector<LineTranslation>(lines.size(), none);
  }
}

// Throws UsageError if two of the output files are the same, since one would replace the other.
void require_different_files(const TranslateArguments& arguments) {
  const std::pair<std::string_view, const std::string&> files[] = {
      {"--alignments", arguments.alignments}, {"--pharaoh", arguments.pharaoh}, {"--trees", arguments.trees}};
  for (const auto& [option, file] : files) {
    for (const auto& [other, same] : files) {
      std::error_code missing;
      if (option == other || file.empty() || same.empty()) continue;
      if (absolute_path(file) == absolute_path(same) || std::filesystem::equivalent(file, same, missing))
        fail_usage("translate: ", option, " and ", other, ": expected two files, got ", file, " for both");
    }
  }
}

void translate_input(const TranslateArguments& arguments) {
  TranslateOptions options = arguments.search.checked();
  require_different_files(arguments);
  if ((arguments.heads.layer || arguments.heads.head) && arguments.alignments.empty() && arguments.pharaoh.empty() &&
      arguments.trees.empty()) {
    fail_usage("translate: --layer and --head: expected --alignments, --pharaoh or --trees beside them");
  }
  const TrainedTranslator run =
      open_run<TrainedTranslator>(arguments.run, {.matmul = arguments.matmul, .default_weights = DefaultWeights::bf16});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const PairTokenizers& tokenizers = run.tokenizers;
  AlignmentWriter alignments(arguments);
  std::optional<BracketVocabulary> brackets;
  if (!arguments.grammar.empty()) brackets.emplace(*tokenizers.target, tokenizers.symbols.target.end);
  InputLines input("translating");
  std::vector<std::string> lines;
  std::int64_t number = 0;               // the number of lines read so far
  std::int64_t unknown = 0, tokens = 0;  // of these lines
  // Each group has many batches, so that sentences of similar length can be batched together.
  constexpr std::int64_t kMaxBatch = 1 << 16;  // a larger --batch does not make the groups larger
  while (input.next(input.typed() ? 1 : 16 * std::min(options.batch, kMaxBatch), lines)) {
    const std::vector<std::string_view> views(lines.begin(), lines.end());
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::size_t invalid = find_invalid_utf8(views[i]);
      if (invalid != std::string_view::npos) {
        log_warning("line {}: invalid UTF-8 at byte {}; U+FFFD is translated in its place", number + i + 1, invalid);
      }
    }
    if (brackets) use_brackets(*brackets, views, number + 1, options);
    const auto translations = translated(run, views, options, number + 1, input.typed());
    for (std::size_t i = 0; i < lines.size(); ++i, ++number) {
      const LineTranslation& line = translations[i];
      if (line.dropped_tokens > 0) {
        log_warning("line {}: longer than the model's context of {} tokens: its last {} are not translated", number + 1,
                    run.model->context().value_or(0), line.dropped_tokens);
      }
      unknown += count_unknown(line.source, *tokenizers.source), tokens += std::ssize(line.source);
      alignments.write(run, line);
      if (options.search.n_best == 1) {
        print_line("{}", output_line(line.texts[0]));
        continue;
      }
      for (std::size_t best = 0; best < line.texts.size(); ++best) {
        print_line("{}\t{:g}\t{}", number + 1, line.scores[best], output_line(line.texts[best]));
      }
    }
    flush_results();
  }
  alignments.commit();
  warn_of_unknown(unknown, tokens, *tokenizers.source, "the lines");
}

}  // namespace

Command translate_command() {
  const auto arguments = std::make_shared<TranslateArguments>();
  return {
      .name = "translate",
      .help = "Translate standard input, line by line",
      .options = concatenated(
          {{run_argument(arguments->run),
            checkpoint_option(arguments->run),
            {"--n-best",
             &arguments->search.options.search.n_best,
             "Print so many translations a line: number, score, text [1]",
             {.least = 1, .excludes = {"--sample"}}}},
           search_options(arguments->search, {"Sentences", "translation",
                                              "the model's context, which is the most; of a recurrent model three for "
                                              "each token of the source and 50 more"}),
           {matmul_option(arguments->matmul),
            {"--alignments", &arguments->alignments,
             "File for the attention weights of the best translations: JSON lines of source, target, weights"},
            {"--pharaoh", &arguments->pharaoh,
             "File for alignments: for each target token, the source token with the largest weight, as lines of "
             "i-j, from 0"},
            {"--grammar",
             &arguments->grammar,
             "What may be written: brackets, which is nothing but a tree over the words of the line [any text]",
             {.words = {"brackets"}}},
            page_option("--trees", arguments->trees,
                        "A page (.html) that draws the translations as trees, and shows where each bracket looked")},
           alignment_options(arguments->heads)}),
      .run = [arguments] { translate_input(*arguments); }};
}

}  // namespace tapeformer::cli
