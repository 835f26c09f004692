#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"
#include "core/lines.h"
#include "core/utf8.h"
#include "generate/line_translator.h"

namespace tapeformer::cli {
namespace {

constexpr std::int64_t kMostHypotheses = 1000;  // a wider beam takes gigabytes and helps nobody

struct TranslateArguments {
  std::string run;
  std::optional<MatmulSetting> matmul;
  BeamOptions options{.beam = 5};
  bool no_cache = false;
};

// Lines of standard input, in groups: the first one is waited for, of those behind it only what is there already, so
// that a line typed, or sent by another program, is answered at once.
class LineReader {
 public:
  // False at the end of the input.
  bool next(std::int64_t most, std::vector<std::string>& lines) {
    lines.clear();
    while (static_cast<std::int64_t>(lines.size()) < most) {
      if (buffer_.find('\n', seen_) != buffer_.npos) {
        lines.push_back(take());
        continue;
      }
      seen_ = buffer_.size();
      if (at_end_ || (!lines.empty() && !is_readable())) break;
      read_more();
    }
    if (lines.empty() && !buffer_.empty()) lines.push_back(take());  // a last line without its end
    return !lines.empty();
  }

 private:
  static bool is_readable() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, 0) > 0;
  }

  std::string take() {
    std::string_view rest = buffer_;
    std::string line(take_line(rest));
    buffer_.erase(0, buffer_.size() - rest.size());
    seen_ = 0;
    return line;
  }

  void read_more() {
    char bytes[1 << 16];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    check(count >= 0, "cannot read standard input");
    at_end_ = count == 0;
    buffer_.append(bytes, static_cast<std::size_t>(count));
  }

  std::string buffer_;
  std::size_t seen_ = 0;  // without a line's end
  bool at_end_ = false;
};

// A translation is one line, whatever the model says.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

void translate_input(const TranslateArguments& arguments) {
  BeamOptions options = arguments.options;
  options.use_cache = !arguments.no_cache;
  check_options(options);
  const TrainedTranslator run = open_translator(arguments.run, {.matmul = arguments.matmul, .bf16_weights = true});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const PairTokenizers& tokenizers = run.tokenizers;
  LineReader reader;
  std::vector<std::string> lines;
  std::int64_t number = 0;  // of lines before these
  // Many batches at once, so that sentences of about the same length can be found for each.
  constexpr std::int64_t kMostBatch = 1 << 16;  // lines are read in groups, and not all at once, whatever --batch says
  while (reader.next(16 * std::min(options.batch, kMostBatch), lines)) {
    const std::vector<std::string_view> views(lines.begin(), lines.end());
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::size_t invalid = find_invalid_utf8(views[i]);
      if (invalid != std::string_view::npos) {
        spdlog::warn("line {}: invalid UTF-8 at byte {}; U+FFFD is translated in its place", number + i + 1, invalid);
      }
    }
    const auto translations = translate_lines(*run.model, *tokenizers.source, *tokenizers.target, tokenizers.symbols,
                                              views, options, number + 1);
    for (std::size_t i = 0; i < lines.size(); ++i, ++number) {
      const LineTranslation& line = translations[i];
      if (line.dropped_tokens > 0) {
        spdlog::warn("line {}: longer than the model's context of {} tokens: its last {} are not translated",
                     number + 1, run.model->context().value_or(0), line.dropped_tokens);
      }
      if (options.n_best == 1) {
        std::cout << one_line(line.texts[0]) << '\n';
        continue;
      }
      for (std::size_t best = 0; best < line.texts.size(); ++best) {
        std::cout << number + 1 << '\t' << line.scores[best] << '\t' << one_line(line.texts[best]) << '\n';
      }
    }
    std::cout << std::flush;
    check(std::cout.good(), "cannot write to standard output");
  }
}

}  // namespace

void add_translate_command(CLI::App& app) {
  auto arguments = std::make_shared<TranslateArguments>();
  BeamOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand("translate", "Translate standard input, line by line");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  command->add_option("--beam", options.beam, "Hypotheses kept at each length; 1: greedy [5]")
      ->check(between(1, kMostHypotheses));
  command->add_option("--length-penalty", options.length_penalty,
                      "a: scores are log P / ((5 + tokens)/6)^a; more favours longer translations [0.6]");
  command->add_option("--n-best", options.n_best, "Print so many translations a line: number, score, text [1]")
      ->check(at_least(1));
  command->add_option("--batch", options.batch, "Sentences at once; the translations do not depend on it [64]")
      ->check(at_least(1));
  command->add_option("--max-length", options.max_length, "Tokens of a translation, at most [the model's context]")
      ->check(at_least(1));
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--no-cache", arguments->no_cache, "Without the key/value cache: slower, the same translations");
  command->callback([arguments] { translate_input(*arguments); });
}

}  // namespace tapeformer::cli
