#include <unistd.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/commands/commands.h"
#include "cli/options/page_option.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "cli/terminal/scored_tokens.h"
#include "cli/terminal/surprisal_colors.h"
#include "cli/terminal/terminal.h"
#include "core/files.h"
#include "core/text/numbers.h"
#include "report/surprisal_page.h"
#include "tasks/common/eval.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/translation/trained_translator.h"
#include "tasks/translation/translation_evaluation.h"

namespace tapeformer::cli {
namespace {

struct SurprisalArguments {
  RunSelection run;
  std::string text, prompt, source, target;
  std::optional<MatmulSetting> matmul;
  std::optional<WeightFormat> weights;
  std::string out;  // the file for a page; empty: results go to standard output
  std::int64_t stride = 0, top = 0;
  bool json = false, total = false;
  ColorWhen color = ColorWhen::automatic;

  // How many of the most probable tokens are shown.
  std::int64_t likeliest() const { return top == 0 && !out.empty() ? 5 : top; }
};

bool in_colors(const SurprisalArguments& arguments) { return wants_color(STDOUT_FILENO, arguments.color); }

// The current precision of matrix products, as a JSON string.
std::string matmul_json() { return json_text(word_of(kernels::MatmulPrecisionScope::current())); }

// Writes each token at once, as a row of a table, as an element of a JSON list, or in colours, and keeps none. For a
// page, it collects the tokens instead.
class TokenWriter {
 public:
  TokenWriter(const SurprisalArguments& arguments, const Tokenizer& tokenizer, SurprisalText* page = nullptr)
      : json_(arguments.json),
        ranked_(arguments.top > 0),
        colored_(in_colors(arguments)),
        tokenizer_(tokenizer),
        page_(page) {
    if (!json_ && !page_ && !colored_) print_text("   nats    bits  token\n");
  }

  // `score` is nullopt for a token that has no context and is not scored.
  void write(std::int32_t id, const std::optional<TokenScore>& score) {
    if (score) nats_ += score->nats, ++scored_;
    if (score && id == tokenizer_.unknown_id()) ++unknown_;
    if (page_) {
      collect(id, score);
    } else if (json_) {
      write_json(id, score);
    } else if (colored_) {
      const auto bits = score ? std::optional(score->nats / std::numbers::ln2) : std::nullopt;
      print_text(colored_token(tokenizer_.token_bytes(id), bits));
    } else {
      const std::string numbers =
          score ? fmt::format("{:7.3f} {:7.3f}", score->nats, score->nats / std::numbers::ln2) : "      -       -";
      print_line("{}  {}", numbers, output_text(json_text(tokenizer_.token_bytes(id))));
    }
  }

  // Ends a text after all its tokens are written.
  void end() {
    if (colored_ && !json_ && !page_) print_text("\n");
    if (unknown_ == 0) return;
    log_warning(
        "{} of {} tokens are words or characters that the vocabulary does not have: their surprisal is that of {}",
        unknown_, scored_, tokenizer_.token_bytes(*tokenizer_.unknown_id()));
  }

  double nats() const { return nats_; }
  std::int64_t scored() const { return scored_; }

 private:
  void collect(std::int32_t id, const std::optional<TokenScore>& score) {
    SurprisalToken token{std::string(tokenizer_.token_bytes(id)), score, {}};
    if (score) {
      for (const auto& [other, probability] : score->likeliest)
        token.likeliest.emplace_back(tokenizer_.token_bytes(other));
    }
    page_->tokens.push_back(std::move(token));
  }

  void write_json(std::int32_t id, const std::optional<TokenScore>& score) {
    const auto value = [&](double unit) { return score ? Json(score->nats / unit) : Json(nullptr); };
    Json json{
        {"id", id}, {"token", tokenizer_.token_bytes(id)}, {"nats", value(1)}, {"bits", value(std::numbers::ln2)}};
    if (ranked_) {
      json["rank"] = score ? Json(score->rank) : Json(nullptr);
      json["likeliest"] = score ? tokens_json(score->likeliest, tokenizer_, "probability") : Json::array();
    }
    print_text((first_ ? "" : ",") + json_text(json));
    first_ = false;
  }

  bool json_, ranked_, colored_, first_ = true;
  const Tokenizer& tokenizer_;
  SurprisalText* page_;
  double nats_ = 0;
  std::int64_t scored_ = 0, unknown_ = 0;
};

// Inserts `start`, which precedes a text's first token, at the beginning of the ids unless it is there already, so that
// the first token is scored too. If `start` is a line end, an equal token at the beginning is the text's own, and
// `start` is inserted before it.
void put_start(std::vector<std::int32_t>& ids, std::int32_t start, const Tokenizer& tokenizer) {
  const bool is_there = !ids.empty() && ids.front() == start && !tokenizer.is_ordinary(start);
  if (!is_there) ids.insert(ids.begin(), start);
}

void print_mean(const SurprisalArguments& arguments, double nats, std::int64_t tokens) {
  const double mean = nats / static_cast<double>(tokens);
  if (arguments.out.empty() && in_colors(arguments)) print_line("{}", color_legend());
  print_line("mean {:g} nats, perplexity {}", mean, format_perplexity(std::exp(mean)));
}

void write_page(const SurprisalArguments& arguments, const std::vector<SurprisalText>& texts) {
  const std::string& of = !arguments.target.empty() ? arguments.target : arguments.text;
  write_file_atomically(arguments.out, surprisal_page("Surprisal" + (of.empty() ? "" : ": " + of), texts));
}

// Shows no progress if the results themselves are visible.
ProgressCallback show_scoring(const SurprisalArguments& arguments) {
  return arguments.out.empty() && ::isatty(STDOUT_FILENO) != 0 ? ProgressCallback() : show_progress("scoring");
}

void score_text(const SurprisalArguments& arguments) {
  const TrainedLanguageModel run = open_run<TrainedLanguageModel>(
      arguments.run,
      {.matmul = arguments.matmul, .weights = arguments.weights, .default_weights = DefaultWeights::as_stored});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  std::vector<std::int32_t> ids = arguments.text.empty() ? prompt_tokens(run, arguments.prompt)
                                                         : read_text(arguments.text, run, *run.tokenizer, warn).ids;
  if (arguments.total) put_start(ids, text_start(run), *run.tokenizer);
  check(ids.size() >= 2, "surprisal: the text has ", ids.size(), " tokens, at least 2 are needed");
  if (arguments.stride && reads_in_order(*run.model)) {
    fail_usage("surprisal: --stride: expected none, since ", run.config.model.type,
               " reads a text in order and has no windows");
  }
  // Windows overlap by half: every token after the first window is predicted from at least half a context.
  const std::int64_t context = window_context(*run.model, 0);
  check_stride(arguments.stride, context);  // before anything is printed
  const WindowOptions options{.stride = arguments.stride ? arguments.stride : std::max<std::int64_t>(context / 2, 1)};
  if (arguments.json) print_text("{\"tokens\":[");
  std::vector<SurprisalText> page(1);
  TokenWriter writer(arguments, *run.tokenizer, arguments.out.empty() ? nullptr : &page[0]);
  auto id = ids.begin();
  if (!arguments.total) writer.write(*id, std::nullopt);
  const ProgressCallback progress = show_scoring(arguments);
  score_tokens(*run.model, std::span<const std::int32_t>(ids), options, arguments.likeliest(),
               [&](const TokenScore& score) {
                 writer.write(*++id, score);
                 if (progress) progress(static_cast<double>(id - ids.begin() + 1) / static_cast<double>(ids.size()));
               });
  writer.end();
  if (!arguments.out.empty()) write_page(arguments, page);
  const std::string_view after = run.tokenizer->token_bytes(ids.front());
  const double nats = writer.nats(), mean = nats / static_cast<double>(writer.scored());
  if (!arguments.json) {
    print_mean(arguments, nats, writer.scored());
    if (arguments.total) {
      print_line("total {:g} nats, {:g} bits, of all {} tokens; the first one follows {}", nats,
                 nats / std::numbers::ln2, writer.scored(), json_text(after));
    }
    return;
  }
  const std::string total = arguments.total
                                ? fmt::format("\"total_nats\":{},\"total_bits\":{},\"after\":{},", json_text(nats),
                                              json_text(nats / std::numbers::ln2), json_text(after))
                                : std::string();
  print_line("],{}\"mean_nats\":{},\"perplexity\":{},\"matmul\":{}}}", total, json_text(mean),
             json_text(std::exp(mean)), matmul_json());
}

// Prints a JSON line or a table for each pair that eval would score; or writes one page for all of them.
void score_pairs(const SurprisalArguments& arguments) {
  const TrainedTranslator run = open_run<TrainedTranslator>(
      arguments.run,
      {.matmul = arguments.matmul, .weights = arguments.weights, .default_weights = DefaultWeights::as_stored});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const PairTokenizers& both = run.tokenizers;
  const ParallelText text = ParallelText::from_files(arguments.source, arguments.target);
  for (const std::string& note : text.notes().lines()) warn(note);
  const PairLimits limits = pair_limits(run.config);
  SkippedPairs skipped;
  double total = 0;
  std::int64_t count = 0, unknown = 0, read = 0;  // the unknown tokens of sources, and all that are read
  std::vector<SurprisalText> page;
  const ProgressCallback progress = show_scoring(arguments);
  for (std::size_t i = 0; i < text.pairs().size(); ++i) {
    const SentencePair& pair = text.pairs()[i];
    if (!is_usable(pair, skipped)) continue;
    const std::vector<std::int32_t> source = both.source->encode(pair.source),
                                    target = both.target->encode(pair.target);
    if (!is_usable(source, target, limits, skipped)) continue;
    unknown += count_unknown(source, *both.source), read += std::ssize(source);
    if (!arguments.out.empty()) {
      page.push_back({.source = std::string(pair.source)});
    } else if (arguments.json) {
      print_text(fmt::format("{{\"pair\":{},\"source\":{},\"tokens\":[", i + 1, json_text(pair.source)));
    } else {
      print_line("{}{}", count ? "\n" : "", output_text(std::string(pair.source)));
    }
    TokenWriter writer(arguments, *both.target, page.empty() ? nullptr : &page.back());
    std::size_t place = 0;
    score_tokens(*run.model, source, target, both.symbols, arguments.likeliest(), [&](const TokenScore& score) {
      writer.write(place < target.size() ? target[place] : both.symbols.target.end, score);
      ++place;
    });
    writer.end();
    if (arguments.json) print_line("],\"matmul\":{}}}", matmul_json());
    total += writer.nats(), count += writer.scored();
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(text.pairs().size()));
  }
  ProgressLine::clear_visible();
  if (skipped.total() > 0) {
    log_warning("{} of {} pairs are not scored: {}", skipped.total(), text.pairs().size(), describe(skipped, limits));
  }
  warn_of_unknown(unknown, read, *both.source, arguments.source);
  check(count > 0, text.origin(), ": none of ", text.pairs().size(), " sentence pairs can be scored");
  if (!arguments.out.empty()) write_page(arguments, page);
  if (!arguments.json) print_mean(arguments, total, count);
}

void print_surprisal(const SurprisalArguments& arguments) {
  if (arguments.top > 0 && !arguments.json && arguments.out.empty()) {
    fail_usage("surprisal: --top: expected --json or --out PAGE beside it, got none");
  }
  if (!arguments.source.empty()) return score_pairs(arguments);
  if (arguments.text.empty() && arguments.prompt.empty()) {
    fail_usage("surprisal: expected --text FILE, --prompt TEXT, or --source FILE and --target FILE");
  }
  score_text(arguments);
}

}  // namespace

Command surprisal_command() {
  const auto arguments = std::make_shared<SurprisalArguments>();
  return {
      .name = "surprisal",
      .help = "-log P(token | what is before it), token by token",
      .options = {run_argument(arguments->run),
                  checkpoint_option(arguments->run),
                  {"--text", &arguments->text, "Text file"},
                  {"--prompt", &arguments->prompt, "The text itself", {.excludes = {"--text"}}},
                  source_option(arguments->source, {"--text", "--prompt"}),
                  target_option(arguments->target),
                  {"--stride",
                   &arguments->stride,
                   "Tokens between the beginnings of windows [half the context]",
                   {.least = 1, .excludes = {"--source"}}},
                  matmul_option(arguments->matmul),
                  weights_option(arguments->weights, kAsStored),
                  {"--json", &arguments->json, "Print JSON: one object, or one a pair"},
                  {"--top",
                   &arguments->top,
                   "With --json: the rank of each token and the N likeliest; of a page [5]",
                   {.least = 1}},
                  word_option("--color", arguments->color,
                              "The text in colours in place of a table: auto, always or never [auto: on a terminal]",
                              {.excludes = {"--json", "--out"}, .shows_type = false}),
                  {"--total",
                   &arguments->total,
                   "Also the sum over all tokens, the first one too: it is predicted after <|endoftext|>, or after a "
                   "line end where the tokenizer has no such token or the training text has no documents",
                   {.excludes = {"--source"}}},
                  page_option("--out", arguments->out, "A page (.html): the text in the colours of its surprisal",
                              {.excludes = {"--json"}})},
      .run = [arguments] { print_surprisal(*arguments); }};
}

}  // namespace tapeformer::cli
