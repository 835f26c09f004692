#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/options/input_lines.h"
#include "cli/options/run_model.h"
#include "cli/options/usage.h"
#include "cli/terminal/terminal.h"
#include "data/labels/conll.h"
#include "data/labels/labelled_table.h"
#include "tasks/labels/labelled_rows.h"
#include "tasks/labels/trained_labeller.h"

namespace tapeformer::cli {
namespace {

struct PredictArguments {
  ModelSource run;
  std::optional<MatmulSetting> matmul;
  std::int64_t batch = 16;
  std::string format = "lines", text_column;
  bool json = false;
};

// A line of input (in CoNLL's format, the lines of a sentence), and the example that is predicted for it.
struct Question {
  LabelledExample example;
  std::int64_t cut_tokens = 0;
  bool has_answer = false;  // else the line is empty, or cannot be read
  // For CoNLL: the lines as they were read, and whether each is a word.
  std::vector<std::pair<std::string, bool>> lines = {};
};

// Reads standard input some lines at a time. The answer to an empty line, and to one that cannot be read, is an empty
// line (with --json: null), so that answers and lines correspond. In CoNLL's format every line is repeated, that of a
// word with its label appended.
class Predictor {
 public:
  explicit Predictor(const PredictArguments& arguments)
      : arguments_(arguments),
        run_(open_run<TrainedLabeller>(arguments.run, {.matmul = arguments.matmul})),
        task_(find_label_task(run_.config.task.kind)),
        encoder_(task_, run_.model->encoder(), *run_.tokenizer, run_.labels) {
    if (is_conll() && task_.name != "tag") {
      fail_usage("predict: --format conll: expected a model of task.kind = tag, got ", task_.name);
    }
    if (!is_conll() && !arguments.text_column.empty()) {
      fail_usage("predict: --text-column: expected --format conll beside it");
    }
  }

  void answer_input() {
    const kernels::MatmulPrecisionScope precision(run_.matmul);
    InputLines input("predicting");
    for (std::string line; input.next(line);) {
      ++number_;
      is_conll() ? take_conll(std::move(line)) : take_line(line);
    }
    if (is_conll()) end_sentence();
    flush();
    check(refused_ == 0, "predict: ", refused_, " of ", asked_, is_conll() ? " sentences " : " lines ",
          refused_ == 1 ? "has" : "have", " no answer; the errors above say why");
  }

 private:
  bool is_conll() const { return arguments_.format == "conll"; }

  void take_line(const std::string& line) {
    if (line.find_first_not_of(' ') == line.npos) return ask({}, {});
    const std::string where = str_cat("line ", number_, ": ");
    ask({}, [&](Question& question) { question.example = task_.parse(line, where); });
  }

  void take_conll(std::string line) {
    if (columns_ == 0 && !line.starts_with('#') && is_conll_word(line, 0)) columns_ = conll_columns(line).size();
    const bool is_word = columns_ > 0 && is_conll_word(line, columns_);
    if (sentence_.empty()) begin_ = number_;
    has_words_ = has_words_ || is_word;
    const bool ends = has_words_ && ends_conll_sentence(line);
    sentence_.emplace_back(std::move(line), is_word);
    if (ends) end_sentence();
  }

  void end_sentence() {
    if (sentence_.empty()) return;
    Question question{.example = {}, .lines = std::exchange(sentence_, {})};
    if (!std::exchange(has_words_, false)) return ask(std::move(question), {});
    ask(std::move(question), [&](Question& of) {
      std::int64_t line = begin_;
      for (const auto& [text, is_word] : of.lines) {
        const std::string where = str_cat("line ", line++, ": ");
        if (!is_word) continue;
        std::vector<std::string> fields = conll_columns(text);
        const std::string& column = arguments_.text_column;
        const auto count = std::ssize(fields);
        of.example.pieces.push_back(
            std::move(fields[column.empty() ? conll_word_place(fields.size()) : column_place(column, count, where)]));
      }
      of.example.labels.resize(of.example.pieces.size());
    });
  }

  // `read` makes the example; without it the question is empty.
  void ask(Question question, const std::function<void(Question&)>& read) {
    const std::string where = str_cat("line ", is_conll() ? begin_ : number_, ": ");
    std::vector<LabelledRow> rows;
    if (read) {
      ++asked_;
      try {
        read(question);
        rows = encoder_.encode(question.example, where);
      } catch (const Error& error) {
        spdlog::error("{}", error.what());
        ++refused_;
      }
    }
    question.has_answer = !rows.empty();
    if (question.has_answer) question.cut_tokens = rows.front().cut;
    if (question.cut_tokens > 0) {
      spdlog::warn("{}longer than the model's context of {} tokens: its last {} are not read", where,
                   run_.model->encoder().context().value_or(0), question.cut_tokens);
    }
    questions_.push_back(std::move(question));
    std::ranges::move(rows, std::back_inserter(rows_));
    if (std::ssize(rows_) >= arguments_.batch) flush();
  }

  void flush() {
    const auto predicted = predict_labels(*run_.model, task_, rows_, arguments_.batch);
    std::span<const PredictedLabel> left = predicted;
    for (const Question& question : questions_) {
      const auto own = left.first(question.has_answer ? task_.predictions(question.example) : 0);
      left = left.subspan(own.size());
      if (arguments_.json) {
        std::cout << json_of(question, own);
      } else if (is_conll()) {
        std::cout << output_text(conll_of(question, own));
      } else {
        std::cout << (own.empty() ? "\n" : output_text(task_.text(run_.labels, question.example, own)));
      }
    }
    std::cout << std::flush;
    questions_.clear(), rows_.clear();
  }

  std::string json_of(const Question& question, std::span<const PredictedLabel> own) const {
    using Json = nlohmann::ordered_json;
    // Empty lines between sentences have no answer.
    if (own.empty()) return is_conll() && question.example.pieces.empty() ? "" : "null\n";
    Json json = task_.json(run_.labels, question.example, own);
    if (question.cut_tokens > 0) json["cut_tokens"] = question.cut_tokens;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  }

  std::string conll_of(const Question& question, std::span<const PredictedLabel> own) const {
    std::string text;
    std::size_t word = 0;
    for (const auto& [line, is_word] : question.lines) {
      text += line;
      if (is_word && !own.empty()) {
        text += line.find('\t') != line.npos ? '\t' : ' ';
        text += run_.labels[own[word++].label];
      }
      text += '\n';
    }
    return text;
  }

  const PredictArguments& arguments_;
  const TrainedLabeller run_;
  const LabelTask& task_;
  const RowEncoder encoder_;
  std::int64_t number_ = 0, begin_ = 1;  // numbers of the last line, and of the first line of a sentence
  std::int64_t asked_ = 0, refused_ = 0;
  std::size_t columns_ = 0;  // for CoNLL: the columns of the first word's line; 0 before that
  std::vector<std::pair<std::string, bool>> sentence_;  // Question::lines of the current sentence
  bool has_words_ = false;
  std::vector<Question> questions_;  // questions that wait for an answer
  std::vector<LabelledRow> rows_;    // the rows of those questions that have an answer
};

}  // namespace

void add_predict_command(CLI::App& app) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand(
      "predict", "Label the lines of standard input with a model that is fine-tuned on labels (task.kind)");
  add_run_argument(*command, arguments->run);
  command->add_option("--batch", arguments->batch, "Lines that are read at once [16]")->check(at_least(1));
  command
      ->add_option("--format", arguments->format,
                   "lines: a text a line; conll: a word a line, which comes out as it is with its label behind it; an "
                   "empty line ends a sentence [lines]")
      ->check(CLI::IsMember({"lines", "conll"}));
  command->add_option("--text-column", arguments->text_column,
                      "The words' column with --format conll: its number, or with - from the last [1; of CoNLL-U 2]");
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--json", arguments->json,
                    "Print a JSON object for each line, with probabilities; null for an empty one");
  command->callback([arguments] { Predictor(*arguments).answer_input(); });
}

}  // namespace tapeformer::cli
