#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/options/decoding_options.h"
#include "cli/options/run_model.h"
#include "cli/options/typed_lines.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/terminal.h"
#include "core/steady_clock.h"
#include "core/text/numbers.h"
#include "data/text/encode_text.h"
#include "generate/generator.h"
#include "generate/stop_strings.h"
#include "tasks/common/text_start.h"
#include "tasks/instructions/chat_session.h"
#include "tokenizer/special_tokens.h"

namespace tapeformer::cli {
namespace {

struct GenerateArguments {
  RunSelection run;
  std::string prompt;
  std::optional<MatmulSetting> matmul;
  std::optional<WeightFormat> weights;
  GenerateOptions options;
  BeamOptions search{.beam = 0};  // 0: no beam search, the text is sampled
  std::vector<std::string> stops;
  std::int64_t samples = 1;
  bool no_cache = false, interactive = false, chat = false, json = false;
  std::string system;  // the system message of a chat
};

// The tokens that the model continues, and the part of them that is shown before the generated text.
struct Beginning {
  std::vector<std::int32_t> ids;
  std::string_view shown;
};

// Whether the tokenizer has tokens for the whole text.
bool knows(const Tokenizer& tokenizer, std::string_view text) {
  try {
    return count_unknown(tokenizer.encode(text), tokenizer) == 0;
  } catch (const Error&) {  // a character has no token
    return false;
  }
}

class TextGenerator {
 public:
  explicit TextGenerator(const GenerateArguments& arguments)
      : arguments_(arguments),
        run_(open_run<TrainedLanguageModel>(arguments.run, {.matmul = arguments.matmul,
                                                            .weights = arguments.weights,
                                                            .default_weights = DefaultWeights::bf16,
                                                            .conversations = arguments.chat})),
        options_(arguments.options) {
    options_.use_cache = !arguments.no_cache;
    options_.stop_token = text_end_token(*run_.tokenizer).value_or(-1);
  }

  void answer_prompt() {
    const Beginning beginning{beginning_tokens(run_, arguments_.prompt), arguments_.prompt};
    warn_of_unknown(beginning.ids, *run_.tokenizer, "the prompt");
    warn_of_unseen(beginning.ids, "the prompt");
    for (std::int64_t i = 0; i < arguments_.samples; ++i) {
      if (arguments_.samples > 1 && !arguments_.json) print_line("--- seed {} ---", options_.seed);
      continue_text(arguments_.prompt, beginning, [] { return true; });
      ++options_.seed;
    }
    log_speed();
  }

  // Writes the best texts of a beam search; if there are several, a line with its score precedes each.
  void search_prompt() {
    const kernels::MatmulPrecisionScope precision(run_.matmul);
    const Beginning beginning{beginning_tokens(run_, arguments_.prompt), arguments_.prompt};
    warn_of_unknown(beginning.ids, *run_.tokenizer, "the prompt");
    warn_of_unseen(beginning.ids, "the prompt");
    const double begin = steady_seconds();
    const auto found = search_texts(*run_.model, beginning.ids,
                                    {.search = arguments_.search,
                                     .tokens = options_.tokens,
                                     .stop_token = options_.stop_token,
                                     .context = options_.context,
                                     .use_cache = options_.use_cache});
    tokens_ = std::ssize(found.front().ids), seconds_ = steady_seconds() - begin;
    for (const Hypothesis& hypothesis : found) {
      const std::string text = is_first(beginning) ? run_.tokenizer->decode(hypothesis.ids)
                                                   : run_.tokenizer->decode_continuation(hypothesis.ids);
      const std::int64_t tokens = std::ssize(hypothesis.ids);
      if (arguments_.json) {
        print_json({{"prompt", arguments_.prompt},
                    {"text", text},
                    {"tokens", tokens},
                    {"score", hypothesis.score},
                    {"log_probability", hypothesis.log_probability},
                    {"end", tokens == options_.tokens ? "length" : "end_of_text"}});
        continue;
      }
      if (found.size() > 1) print_line("--- score {:g} ---", hypothesis.score);
      TextOutput output;
      output.write(beginning.shown), output.write(text), output.finish();
      print_line("");
    }
    log_speed();
  }

  // Lets the user and the model write one text in turn, where each line has its own seed. An empty line begins a new
  // text.
  void converse() {
    TypedLines lines(
        "type a line and Enter; an empty line begins a new text; Ctrl-C ends an answer, Ctrl-D the conversation");
    const std::string_view line_end = knows(*run_.tokenizer, "\n") ? "\n" : "";
    std::vector<std::int32_t> text;
    for (std::string line; lines.next(line);) {
      if (line.empty()) {
        text.clear();
        continue;
      }
      const StopSignal stop({{SIGINT}});
      try {
        const std::vector<std::int32_t> ids =
            text.empty() ? prompt_tokens(run_, line) : run_.tokenizer->encode_continuation(str_cat(line_end, line));
        warn_of_unknown(ids, *run_.tokenizer, "the line");
        append(text, ids);
        check(!text.empty(), "the line has no tokens");
      } catch (const Error& error) {  // that, or a character has no token
        if (!lines.typed()) fail("line ", lines.number(), ": ", error.what());
        log_warning("not continued: {}", error.what());
        continue;
      }
      warn_of_unseen(text, "the conversation");
      const std::span<const std::int32_t> seen = seen_part(*run_.model, text, options_.context);
      text = std::vector<std::int32_t>(seen.begin(), seen.end());
      append(text, continue_text(line, {text, line}, [&] { return !stop.requested(); }));
      if (lines.typed()) log_speed();
      ++options_.seed;
    }
  }

  // Answers each line that is read, in one conversation. Each answer has its own seed.
  void chat() {
    const ChatFormat format(*run_.tokenizer, ChatSettings::beside(run_.run.tokenizer()));
    ChatSession session(*run_.model, format, options_, arguments_.system);
    TypedLines lines(
        "ask a question and press Enter; an empty line begins a new conversation; Ctrl-C ends an answer, Ctrl-D the "
        "conversation");
    for (std::string line; lines.next(line);) {
      if (line.empty()) {
        session.clear();
        continue;
      }
      answer(session, line);
      if (lines.typed() && tokens_ > 0) log_speed();
      ++session.seed();
    }
  }

 private:
  // Writes the answer to a question, or a JSON object with it. For a question that cannot be answered there is a
  // warning, and the object says so.
  void answer(ChatSession& session, const std::string& question) {
    const kernels::MatmulPrecisionScope precision(run_.matmul);
    const StopSignal stop({{SIGINT}});
    TextOutput output;
    const double begin = steady_seconds();
    ChatAnswer answer;
    try {
      answer = session.ask(question, [&](std::string_view part) {
        if (!arguments_.json) output.write(part), flush_results();
        return !stop.requested();
      });
    } catch (const Error& error) {
      log_warning("not answered: {}", error.what());
      if (!arguments_.json) {
        print_line("");
      } else {
        print_json({{"prompt", question},
                    {"text", ""},
                    {"tokens", 0},
                    {"seed", session.seed()},
                    {"end", "not_answered"},
                    {"error", error.what()}});
      }
      return flush_results();
    }
    const double seconds = steady_seconds() - begin;
    tokens_ += answer.tokens, seconds_ += seconds;
    const bool is_cut = answer.end == ChatAnswer::End::length;
    if (!arguments_.json) {
      output.finish();
      print_line("");
      if (is_cut) log_warning("the answer is cut after {} tokens", answer.tokens);
    } else {
      const char* const end = answer.end == ChatAnswer::End::mark ? "end_of_text" : is_cut ? "length" : "interrupted";
      print_json({{"prompt", question},
                  {"text", answer.text},
                  {"tokens", answer.tokens},
                  {"seed", session.seed()},
                  {"end", end},
                  {"tokens_per_s", rate(answer.tokens, seconds)}});
    }
    warn_of_unknown(session.unknown(), session.asked(), *run_.tokenizer, "the prompt");
    if (session.forgotten() > 0) {
      log_warning("the context is full: the oldest {} messages were forgotten", session.forgotten());
    }
    flush_results();
  }

  bool is_first(const Beginning& beginning) const {
    return begins_text(*run_.tokenizer, beginning.shown, beginning.ids);
  }

  static void append(std::vector<std::int32_t>& text, const std::vector<std::int32_t>& more) {
    text.insert(text.end(), more.begin(), more.end());
  }

  void warn_of_unseen(std::span<const std::int32_t> ids, std::string_view what) const {
    const std::size_t seen = seen_part(*run_.model, ids, options_.context).size();
    if (seen == ids.size()) return;
    log_warning("{} has {} tokens: the model sees only the last {}", what, ids.size(), seen);
  }

  // Writes the text that follows `beginning`, or a JSON object with `prompt`. Returns the generated tokens.
  template <class GoOn>
  std::vector<std::int32_t> continue_text(std::string_view prompt, const Beginning& beginning, const GoOn& go_on) {
    const kernels::MatmulPrecisionScope precision(run_.matmul);
    StopStrings stops(arguments_.stops);
    TextOutput output;
    std::string text;
    const auto show = [&](std::string_view part) {
      text += part;
      if (!arguments_.json) output.write(part);
      flush_results();  // so that the reader of a pipe sees each token at once too
    };
    if (!arguments_.json) output.write(beginning.shown);
    const double begin = steady_seconds();
    bool interrupted = false, first = is_first(beginning);
    const auto ids = generate(*run_.model, beginning.ids, options_, [&](std::int32_t token) {
      const bool begins = std::exchange(first, false);
      show(stops.push(begins ? run_.tokenizer->decode(std::span(&token, 1))
                             : std::string(run_.tokenizer->token_bytes(token))));
      interrupted = !go_on();
      return !interrupted && !stops.stopped();
    });
    show(stops.finish());
    const std::int64_t tokens = std::ssize(ids);
    const double seconds = steady_seconds() - begin;
    tokens_ += tokens, seconds_ += seconds;
    if (!arguments_.json) {
      output.finish();
      print_line("");
      flush_results();  // before the speed, which goes to standard error
    } else {
      const char* const end = stops.stopped()             ? "stop"
                              : interrupted               ? "interrupted"
                              : tokens == options_.tokens ? "length"
                                                          : "end_of_text";
      print_json({{"prompt", prompt},
                  {"text", text},
                  {"tokens", tokens},
                  {"seed", options_.seed},
                  {"end", end},
                  {"tokens_per_s", rate(tokens, seconds)}});
      flush_results();
    }
    // If a --stop text ended the generated text, the stop text itself is not part of it.
    return stops.stopped() ? run_.tokenizer->encode_continuation(text) : ids;
  }

  static double rate(std::int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }
  void log_speed() {
    log_info("{} tokens, {} tokens/s", tokens_, format_rate(rate(tokens_, seconds_)));
    tokens_ = 0, seconds_ = 0;
  }

  const GenerateArguments& arguments_;
  const TrainedLanguageModel run_;
  GenerateOptions options_;
  std::int64_t tokens_ = 0;  // tokens since the last log_speed()
  double seconds_ = 0;
};

void generate_text(const GenerateArguments& arguments) {
  check_options(arguments.options.sampling);
  if (arguments.search.beam > 0) check_options(arguments.search);
  TextGenerator generator(arguments);
  if (arguments.search.beam > 0) return generator.search_prompt();
  if (arguments.chat) return generator.chat();
  arguments.interactive ? generator.converse() : generator.answer_prompt();
}

}  // namespace

Command generate_command() {
  const auto arguments = std::make_shared<GenerateArguments>();
  GenerateOptions& options = arguments->options;
  return {
      .name = "generate",
      .help = "Continue a prompt",
      .options = concatenated(
          {{run_argument(arguments->run),
            checkpoint_option(arguments->run),
            {"--prompt", &arguments->prompt,
             "Text to continue [none: the text begins as a document, or after a line's end]"},
            {"--interactive",
             &arguments->interactive,
             "Continue each line that is typed, with the lines and answers before it",
             {.excludes = {"--prompt", "--samples"}}},
            {"--chat",
             &arguments->chat,
             "Answer each line that is typed, in one conversation, by the chat template of the run or ChatML",
             {.excludes = {"--prompt", "--interactive", "--samples", "--stop"}}},
            {"--system", &arguments->system, "The system message of the conversation [none]", {.needs = {"--chat"}}},
            {"--tokens", &options.tokens, "Tokens to generate, at most [200]", {.least = 0}},
            {"--context", &options.context, "Tokens that the model sees at most [the model's context]", {.least = 1}}},
           sampling_options(options.sampling, options.seed),
           {{"--samples", &arguments->samples, "Texts; each has the next seed [1]", {.least = 1}},
            {"--stop",
             &arguments->stops,
             "The text ends before this text (may be given several times)",
             {.values = ListValues::one_each}},
            {"--beam",
             &arguments->search.beam,
             "Search for the likeliest text with so many hypotheses, draw none",
             {.least = 1,
              .most = kMaxHypotheses,
              .excludes = {"--temperature", "--top-k", "--top-p", "--seed", "--samples", "--stop", "--interactive",
                           "--chat"}}},
            length_penalty_option(arguments->search, "texts", {.needs = {"--beam"}}),
            {"--n-best",
             &arguments->search.n_best,
             "Print so many texts of the search, best first [1]",
             {.least = 1, .needs = {"--beam"}}},
            {"--json", &arguments->json, "Print a JSON object for each text"},
            matmul_option(arguments->matmul),
            weights_option(arguments->weights, "bf16 where products are in bf16, else f32"),
            {"--no-cache", &arguments->no_cache,
             "Without the key/value cache: slower, the same text but for rounding"}}}),
      .run = [arguments] { generate_text(*arguments); }};
}

}  // namespace tapeformer::cli
