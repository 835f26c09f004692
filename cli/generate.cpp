#include <spdlog/spdlog.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/terminal/numbers.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/terminal.h"
#include "cli/usage.h"
#include "data/text/text_source.h"
#include "generate/generator.h"
#include "generate/stop_strings.h"

namespace tapeformer::cli {
namespace {

struct GenerateArguments {
  std::string run, prompt;
  std::optional<MatmulSetting> matmul;
  GenerateOptions options;
  std::vector<std::string> stops;
  std::int64_t samples = 1;
  bool no_cache = false, interactive = false, json = false;
};

// What the model continues, and how much of it is shown before the text.
struct Beginning {
  std::vector<std::int32_t> ids;
  std::string_view shown;
};

// Without a prompt the text begins where a document would: after the end of the one before.
Beginning beginning_of(const TrainedLanguageModel& run, std::string_view prompt) {
  const std::optional<std::int32_t> end_of_text = run.tokenizer->special(kEndOfText);
  if (!prompt.empty()) return {prompt_tokens(run, prompt), prompt};
  return {end_of_text ? std::vector<std::int32_t>{*end_of_text} : prompt_tokens(run, "\n"), {}};
}

class TextGenerator {
 public:
  explicit TextGenerator(const GenerateArguments& arguments)
      : arguments_(arguments),
        run_(open_language_model(arguments.run, {.matmul = arguments.matmul, .bf16_weights = true})),
        options_(arguments.options) {
    options_.use_cache = !arguments.no_cache;
    options_.stop_token = run_.tokenizer->special(kEndOfText).value_or(-1);
  }

  void answer_prompt() {
    warn_of_unseen(arguments_.prompt);
    for (std::int64_t i = 0; i < arguments_.samples; ++i) {
      if (arguments_.samples > 1 && !arguments_.json) std::cout << "--- seed " << options_.seed << " ---\n";
      continue_text(arguments_.prompt, [] { return true; });
      ++options_.seed;
    }
    tell_speed();
  }

  // Each line is a prompt, and is continued with a seed of its own.
  void converse() {
    const bool typed = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
    if (typed) spdlog::info("type a prompt and Enter; Ctrl-C ends a text, Ctrl-D the conversation");
    for (std::string line; (typed ? std::cout << "> " << std::flush : std::cout) && std::getline(std::cin, line);) {
      const StopSignal stop;
      warn_of_unseen(line);
      continue_text(line, [&] { return !stop.requested(); });
      if (typed) tell_speed();
      ++options_.seed;
    }
    if (typed) std::cout << '\n';
  }

 private:
  void warn_of_unseen(std::string_view prompt) const {
    const Beginning beginning = beginning_of(run_, prompt);
    const std::size_t seen = seen_part(*run_.model, beginning.ids).size();
    if (seen == beginning.ids.size()) return;
    spdlog::warn("the prompt has {} tokens: the model sees only the last {}", beginning.ids.size(), seen);
  }

  template <class GoOn>
  void continue_text(std::string_view prompt, const GoOn& go_on) {
    const kernels::MatmulPrecisionScope precision(run_.matmul);
    const Beginning beginning = beginning_of(run_, prompt);
    StopStrings stops(arguments_.stops);
    TextOutput output;
    std::string text;
    const auto show = [&](std::string_view part) {
      arguments_.json ? void(text += part) : output.write(part);
      std::cout << std::flush;  // a reader of a pipe sees each token as well
    };
    if (!arguments_.json) show(beginning.shown);
    const double begin = ProgressLine::steady_seconds();
    bool interrupted = false;
    const auto ids = generate(*run_.model, beginning.ids, options_, [&](std::int32_t token) {
      show(stops.push(run_.tokenizer->decode(std::span(&token, 1))));
      interrupted = !go_on();
      return !interrupted && !stops.stopped();
    });
    show(stops.finish());
    const std::int64_t tokens = std::ssize(ids);
    const double seconds = ProgressLine::steady_seconds() - begin;
    tokens_ += tokens, seconds_ += seconds;
    if (!arguments_.json) {
      output.finish();
      std::cout << '\n' << std::flush;  // the speed comes behind it, wherever both go
      return;
    }
    const char* const end = stops.stopped()             ? "stop"
                            : interrupted               ? "interrupted"
                            : tokens == options_.tokens ? "length"
                                                        : "end_of_text";
    using Json = nlohmann::ordered_json;
    const Json json{{"prompt", prompt},      {"text", text}, {"tokens", tokens},
                    {"seed", options_.seed}, {"end", end},   {"tokens_per_s", rate(tokens, seconds)}};
    std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }

  static double rate(std::int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }
  void tell_speed() {
    spdlog::info("{} tokens, {} tokens/s", tokens_, format_rate(rate(tokens_, seconds_)));
    tokens_ = 0, seconds_ = 0;
  }

  const GenerateArguments& arguments_;
  const TrainedLanguageModel run_;
  GenerateOptions options_;
  std::int64_t tokens_ = 0;  // since tell_speed()
  double seconds_ = 0;
};

void generate_text(const GenerateArguments& arguments) {
  check_options(arguments.options.sampling);
  TextGenerator generator(arguments);
  arguments.interactive ? generator.converse() : generator.answer_prompt();
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto arguments = std::make_shared<GenerateArguments>();
  GenerateOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  CLI::Option* prompt = command->add_option(
      "--prompt", arguments->prompt, "Text to continue [none: the text begins as a document, or after a line's end]");
  command->add_flag("--interactive", arguments->interactive, "Continue each line that is typed")->excludes(prompt);
  command->add_option("--tokens", options.tokens, "Tokens to generate, at most [200]")->check(at_least(0));
  command->add_option("--temperature", options.sampling.temperature, "0: always the likeliest token [1]");
  command->add_option("--top-k", options.sampling.top_k, "Only the k likeliest tokens; 0: all [0]");
  command->add_option("--top-p", options.sampling.top_p, "Only the likeliest tokens of this total probability [1]");
  command->add_option("--seed", options.seed, "The same seed gives the same text [1]")->check(at_least(0));
  command->add_option("--samples", arguments->samples, "Texts; each has the next seed [1]")->check(at_least(1));
  command->add_option("--stop", arguments->stops, "The text ends before this text (may be given several times)")
      ->allow_extra_args(false);
  command->add_flag("--json", arguments->json, "Print a JSON object for each text");
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--no-cache", arguments->no_cache,
                    "Without the key/value cache: slower, the same text but for rounding");
  command->callback([arguments] { generate_text(*arguments); });
}

}  // namespace tapeformer::cli
