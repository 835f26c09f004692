#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/scores/trees.h"
#include "cli/options/page_option.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "data/text/encode_text.h"
#include "data/text/text_files.h"
#include "report/score_page.h"
#include "tasks/analysis/option_scores.h"

namespace tapeformer {

template <>
struct Words<OptionMeasure> {
  static constexpr std::pair<OptionMeasure, std::string_view> list[] = {
      {OptionMeasure::total, "total"}, {OptionMeasure::token, "token"}, {OptionMeasure::byte, "byte"}};
};

namespace cli {
namespace {

constexpr OptionMeasure kMeasures[] = {OptionMeasure::total, OptionMeasure::token, OptionMeasure::byte};

struct ScoreArguments {
  RunSelection run;
  std::optional<std::string> prompt;
  std::vector<std::string> options;
  std::string lines, out;
  OptionMeasure by = OptionMeasure::total;
  std::optional<MatmulSetting> matmul;
  std::optional<WeightFormat> weights;
  bool json = false;
};

// A language model or an encoder-decoder that scores options.
class OptionScorer {
 public:
  explicit OptionScorer(const ScoreArguments& arguments) {
    const LoadOptions options{
        .matmul = arguments.matmul, .weights = arguments.weights, .default_weights = DefaultWeights::as_stored};
    if (family_of_run(arguments.run).is_encoder_decoder()) {
      translator_.emplace(open_run<TrainedTranslator>(arguments.run, options));
    } else {
      language_model_.emplace(open_run<TrainedLanguageModel>(arguments.run, options));
    }
  }

  std::vector<OptionScore> score(const std::string& prompt, std::span<const std::string> options) {
    const kernels::MatmulPrecisionScope precision(translator_ ? translator_->matmul : language_model_->matmul);
    const std::vector<std::int32_t> ids =
        translator_ ? tokenizer().encode(prompt) : beginning_tokens(*language_model_, prompt);
    unknown_ += count_unknown(ids, tokenizer()), read_ += std::ssize(ids);
    if (translator_) return score_options(*translator_->model, translator_->tokenizers, prompt, options);
    return score_options(*language_model_->model, tokenizer(), ids, options);
  }
  // Warns of tokens of the prompts that the vocabulary does not have. `what` names the prompts.
  void warn_of_prompts(std::string_view what) const { warn_of_unknown(unknown_, read_, tokenizer(), what); }

 private:
  // The tokenizer of prompts.
  const Tokenizer& tokenizer() const {
    return translator_ ? *translator_->tokenizers.source : *language_model_->tokenizer;
  }

  std::int64_t unknown_ = 0, read_ = 0;  // the unknown tokens of the prompts, and all of them
  std::optional<TrainedTranslator> translator_;
  std::optional<TrainedLanguageModel> language_model_;
};

// Warns of options that are scored with the unknown token in place of words, which says little of the words themselves.
class UnknownOptions {
 public:
  void add(std::span<const OptionScore> scores) {
    for (const OptionScore& score : scores) {
      if (score.unknown > 0 && count_++ == 0) first_ = score.text;
    }
    options_ += std::ssize(scores);
  }
  void warn_of_them() const {
    if (count_ == 0) return;
    log_warning(
        "{} of {} options have words or characters that the vocabulary does not have, scored as the unknown "
        "token, which stands for all of them; the first: {}",
        count_, options_, json_text(first_));
  }

 private:
  std::int64_t count_ = 0, options_ = 0;
  std::string first_;
};

void print_options(const ScoreArguments& arguments) {
  OptionScorer scorer(arguments);
  const std::vector<OptionScore> scores = scorer.score(*arguments.prompt, arguments.options);
  const OptionScore& best = scores[best_option(scores, arguments.by)];
  UnknownOptions unknown;
  unknown.add(scores);
  unknown.warn_of_them();
  scorer.warn_of_prompts("the prompt");
  const auto json = [&] {
    Json list = Json::array();
    for (const OptionScore& score : scores) {
      list.push_back({{"option", score.text},
                      {"log_likelihood", score.log_likelihood},
                      {"per_token", score.per_token()},
                      {"per_byte", score.per_byte()},
                      {"tokens", score.tokens}});
    }
    return Json{{"prompt", *arguments.prompt},
                {"options", std::move(list)},
                {"by", word_of(arguments.by)},
                {"chosen", best.text}};
  };
  print_result(arguments.json, json, [&] {
    Table table({{.width = 10, .right = true, .gap = 0},
                 {.width = 10, .right = true},
                 {.width = 10, .right = true},
                 {.width = 6, .right = true},
                 {}});
    table.add({"nats", "per token", "per byte", "tokens", "option"});
    for (const OptionScore& score : scores) {
      table.add({fmt::format("{:.4f}", score.log_likelihood), fmt::format("{:.4f}", score.per_token()),
                 fmt::format("{:.4f}", score.per_byte()), fmt::format("{}", score.tokens),
                 json_text(score.text) + (&score == &best ? "  <- chosen" : "")});
    }
    return output_text(table.text());
  });
}

// A line of --lines.
struct Question {
  std::string prompt, answer;
  std::vector<std::string> options;
  std::string group;
  std::optional<double> optimum;
};

// Reads {"prompt", "options", "answer", "group", "optimum"}; the answer is an option's text, or its index from 0.
Question read_question(std::string_view line, const std::string& where, const std::vector<std::string>& options) {
  const Json json = parse_json<Json>(line, where + ": ");
  const auto is_texts = [](const Json& list) {
    return list.is_array() && std::ranges::all_of(list, [](const Json& text) { return text.is_string(); });
  };
  Question question;
  question.options = options;
  check(json.is_object() && json.contains("prompt") && json["prompt"].is_string() && json.contains("answer"), where,
        ": expected an object with prompt (a text) and answer");
  question.prompt = json["prompt"].get<std::string>();
  if (json.contains("options")) {
    check(is_texts(json["options"]), where, ": options: expected a list of texts");
    question.options = json["options"].get<std::vector<std::string>>();
  }
  check(question.options.size() > 1, where, ": expected at least 2 options, got ", question.options.size());
  for (const std::string& option : question.options) {
    check(std::ranges::count(question.options, option) == 1, where, ": options: expected different texts, got ",
          json_text(option), " more than once");
  }
  const Json& answer = json["answer"];
  const auto count = static_cast<std::int64_t>(question.options.size());
  if (answer.is_number_integer()) {
    const auto index = answer.get<std::int64_t>();
    check(index >= 0 && index < count, where, ": answer: expected an option's text, or 0 to ", count - 1, ", got ",
          index);
    question.answer = question.options[index];
  } else {
    check(answer.is_string() && std::ranges::count(question.options, answer.get<std::string>()) > 0, where,
          ": answer: expected one of the options, got ", json_text(answer));
    question.answer = answer.get<std::string>();
  }
  if (json.contains("group")) {
    question.group = json["group"].is_string() ? json["group"].get<std::string>() : json_text(json["group"]);
  }
  if (json.contains("optimum")) {
    const Json& optimum = json["optimum"];
    check(optimum.is_number() && optimum.get<double>() >= 0 && optimum.get<double>() <= 1, where,
          ": optimum: expected an accuracy from 0 to 1, got ", json_text(optimum));
    question.optimum = optimum.get<double>();
  }
  return question;
}

std::vector<Question> read_questions(const ScoreArguments& arguments) {
  std::vector<Question> questions;
  const std::string text = read_text_file(arguments.lines);
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    questions.push_back(read_question(line, str_cat(arguments.lines, ": line ", number), arguments.options));
  });
  check(!questions.empty(), arguments.lines, ": expected a question a line, got none");
  return questions;
}

// Adds a question to the counts of its group.
void count_answer(const Question& question, std::span<const OptionScore> scores, std::vector<ScoredGroup>& groups) {
  auto group = std::ranges::find(groups, question.group, &ScoredGroup::name);
  if (group == groups.end()) group = groups.insert(groups.end(), ScoredGroup{.name = question.group});
  ++group->questions;
  for (std::size_t i = 0; i < std::size(kMeasures); ++i) {
    group->right[i] += scores[best_option(scores, kMeasures[i])].text == question.answer ? 1 : 0;
  }
  group->chance += 1.0 / static_cast<double>(question.options.size());
  if (question.optimum) {
    group->optimum += *question.optimum;
    ++group->with_optimum;
  }
}

void print_accuracy(const ScoreArguments& arguments) {
  const std::vector<Question> questions = read_questions(arguments);
  OptionScorer scorer(arguments);
  const ProgressCallback progress = show_progress("scoring");
  std::vector<ScoredGroup> groups;
  ScoredGroup all{.name = "all"};
  UnknownOptions unknown;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    try {
      const std::vector<OptionScore> scores = scorer.score(questions[i].prompt, questions[i].options);
      count_answer(questions[i], scores, groups);
      unknown.add(scores);
    } catch (const Error& error) {
      fail(arguments.lines, ": question ", i + 1, ": ", error.what());
    }
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(questions.size()));
  }
  ProgressLine::clear_visible();
  unknown.warn_of_them();
  scorer.warn_of_prompts("the prompts");
  for (const ScoredGroup& group : groups) all.add(group);
  if (!arguments.out.empty()) {
    return write_file_atomically(arguments.out, score_page("Accuracy: " + arguments.lines, groups));
  }
  const auto json = [&] {
    Json result = score_json(all);
    result["groups"] = Json::array();
    for (const ScoredGroup& group : groups) result["groups"].push_back(score_json(group));
    return result;
  };
  print_result(arguments.json, json, [&] {
    std::vector<std::vector<std::string>> rows{{"group", "questions", "right", "per token", "per byte", "chance"}};
    const bool known = std::ranges::any_of(groups, [](const ScoredGroup& group) { return group.has_optimum(); });
    if (known) rows[0].push_back("optimum");
    const std::string unnamed = groups.size() > 1 ? "none" : "all";
    if (groups.size() > 1) groups.push_back(all);
    const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
    for (const ScoredGroup& group : groups) {
      rows.push_back({group.name.empty() ? unnamed : group.name, fmt::format("{}", group.questions),
                      percent(group.accuracy(0)), percent(group.accuracy(1)), percent(group.accuracy(2)),
                      percent(group.chance / static_cast<double>(group.questions))});
      if (group.has_optimum()) rows.back().push_back(percent(group.mean_optimum()));
    }
    return output_text(Table::fitted(std::move(rows)).text());
  });
}

void score_run(const ScoreArguments& arguments) {
  if (!arguments.lines.empty()) return print_accuracy(arguments);
  if (!arguments.prompt || arguments.options.size() < 2) {
    fail_usage("score: expected --prompt TEXT and two or more --options, or --lines FILE");
  }
  print_options(arguments);
}

}  // namespace

Command score_command() {
  const auto arguments = std::make_shared<ScoreArguments>();
  return {
      .name = "score",
      .help = "How probable each of several answers is after a prompt; or, as score trees, the F1 of trees",
      .options = {run_argument(arguments->run),
                  checkpoint_option(arguments->run),
                  {"--prompt", &arguments->prompt, "What comes before each option; of an encoder-decoder, the source"},
                  {"--options", &arguments->options, "The answers among which the model chooses"},
                  {"--lines",
                   &arguments->lines,
                   "File of questions, as JSON lines of prompt, options, answer: prints the accuracy",
                   {.excludes = {"--prompt"}}},
                  word_option("--by", arguments->by,
                              "The log-likelihood that chooses: total, per token or per byte [total]",
                              {.excludes = {"--lines"}}),
                  page_option("--out", arguments->out,
                              "With --lines: a page (.html) with the accuracy of each group of questions",
                              {.excludes = {"--json"}, .needs = {"--lines"}}),
                  matmul_option(arguments->matmul),
                  weights_option(arguments->weights, kAsStored),
                  {"--json", &arguments->json, "Print one JSON object"}},
      .run = [arguments] { score_run(*arguments); },
      .commands = {trees_command()}};
}

}  // namespace cli
}  // namespace tapeformer
