#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/options/input_lines.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "data/labels/conll.h"
#include "data/labels/labelled_table.h"
#include "data/text/encode_text.h"
#include "tasks/labels/labelled_rows.h"
#include "tasks/labels/trained_classifier.h"

namespace tapeformer::cli {
namespace {

struct PredictArguments {
  RunSelection run;
  std::optional<MatmulSetting> matmul;
  std::int64_t batch = 16;
  std::string format = "lines", text_column;
  bool json = false;
};

// An example that waits for its prediction: a line of the input or, in CoNLL format, the lines of a sentence.
struct PendingExample {
  LabelledExample example;
  std::int64_t cut_tokens = 0;
  bool has_answer = false;  // whether it is predicted; a line that is empty, or cannot be read, is not
  // For CoNLL: the lines as they were read, and whether each is a word.
  std::vector<std::pair<std::string, bool>> lines = {};
};

// Reads standard input and predicts the lines that have come, some at a time. The answer to an empty line, and to a
// line that cannot be read, is an empty line (with --json: null), so that answers and lines correspond. In CoNLL format
// every line is repeated, and a word's line has its label appended.
class Predictor {
 public:
  explicit Predictor(const PredictArguments& arguments)
      : arguments_(arguments),
        run_(open_run<TrainedClassifier>(arguments.run, {.matmul = arguments.matmul})),
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
    // Each group has many batches; it is smaller where no more lines have come, and what it completes is answered.
    constexpr std::int64_t kMaxBatch = 1 << 16;  // a larger --batch does not make the groups larger
    for (std::vector<std::string> lines; input.next(16 * std::min(arguments_.batch, kMaxBatch), lines); flush()) {
      for (std::string& line : lines) {
        ++number_;
        is_conll() ? take_conll(std::move(line)) : take_line(line);
      }
    }
    if (is_conll()) end_sentence();
    flush();
    warn_of_unknown(unknown_, tokens_, *run_.tokenizer, is_conll() ? "the words" : "the lines");
    check(refused_ == 0, "predict: ", refused_, " of ", added_, is_conll() ? " sentences " : " lines ",
          refused_ == 1 ? "has" : "have", " no answer; the errors above say why");
  }

 private:
  bool is_conll() const { return arguments_.format == "conll"; }

  void take_line(const std::string& line) {
    if (line.find_first_not_of(' ') == line.npos) return add({}, {});
    const std::string where = str_cat("line ", number_, ": ");
    add({}, [&](PendingExample& pending) { pending.example = task_.functions.parse(line, where); });
  }

  void take_conll(std::string line) {
    if (columns_ == 0 && !line.starts_with('#') && is_conll_word(line, 0)) columns_ = conll_columns(line).size();
    const bool is_word = columns_ > 0 && is_conll_word(line, columns_) && !is_extra(line);
    if (sentence_.empty()) begin_ = number_;
    has_words_ = has_words_ || is_word;
    const bool ends = has_words_ && ends_conll_sentence(line);
    sentence_.emplace_back(std::move(line), is_word);
    if (ends) end_sentence();
  }

  // Whether CoNLL-U's number of the word says that the line is none of a single word.
  bool is_extra(const std::string& line) const {
    const std::string& word = arguments_.text_column;
    return word != "1" && word != str_cat("-", columns_) && is_conllu_extra(conll_columns(line));
  }

  void end_sentence() {
    if (sentence_.empty()) return;
    PendingExample pending{.example = {}, .lines = std::exchange(sentence_, {})};
    if (!std::exchange(has_words_, false)) return add(std::move(pending), {});
    add(std::move(pending), [&](PendingExample& sentence) {
      std::int64_t line = begin_;
      for (const auto& [text, is_word] : sentence.lines) {
        const std::string where = str_cat("line ", line++, ": ");
        if (!is_word) continue;
        std::vector<std::string> fields = conll_columns(text);
        const std::string& column = arguments_.text_column;
        const auto count = std::ssize(fields);
        std::string& word =
            fields[column.empty() ? conll_word_column(fields.size()) : column_index(column, count, where)];
        check(!word.empty(), where, "expected a word, got an empty column");
        sentence.example.pieces.push_back(std::move(word));
      }
      sentence.example.labels.resize(sentence.example.pieces.size());
    });
  }

  // `read` fills in the example; without it, the example is empty.
  void add(PendingExample pending, const std::function<void(PendingExample&)>& read) {
    const std::string where = str_cat("line ", is_conll() ? begin_ : number_, ": ");
    std::vector<LabelledRow> rows;
    if (read) {
      ++added_;
      try {
        read(pending);
        rows = encoder_.encode(pending.example, where);
      } catch (const Error& error) {
        log_error("{}", error.what());
        ++refused_;
      }
    }
    pending.has_answer = !rows.empty();
    if (pending.has_answer) pending.cut_tokens = rows.front().cut;
    if (pending.cut_tokens > 0) {
      log_warning("{}longer than the model's context of {} tokens: its last {} are not read", where,
                  run_.model->encoder().context().value_or(0), pending.cut_tokens);
    }
    for (const LabelledRow& row : rows) {
      unknown_ += count_unknown(row.ids, *run_.tokenizer), tokens_ += std::ssize(row.ids);
    }
    pending_.push_back(std::move(pending));
    std::ranges::move(rows, std::back_inserter(rows_));
    if (std::ssize(rows_) >= arguments_.batch) flush();
  }

  void flush() {
    const auto predicted = predict_labels(*run_.model, task_, rows_, arguments_.batch);
    std::span<const PredictedLabel> left = predicted;
    for (const PendingExample& pending : pending_) {
      const auto own = left.first(pending.has_answer ? task_.predictions(pending.example) : 0);
      left = left.subspan(own.size());
      if (arguments_.json) {
        print_text(json_of(pending, own));
      } else if (is_conll()) {
        print_text(output_text(conll_of(pending, own)));
      } else {
        print_text(own.empty() ? "\n" : output_text(task_.functions.text(run_.labels, pending.example, own)));
      }
    }
    flush_results();
    pending_.clear(), rows_.clear();
  }

  std::string json_of(const PendingExample& pending, std::span<const PredictedLabel> own) const {
    // Lines between sentences have no answer.
    const bool has_words = std::ranges::any_of(pending.lines, &std::pair<std::string, bool>::second);
    if (own.empty()) return is_conll() && !has_words ? "" : "null\n";
    Json json = task_.functions.json(run_.labels, pending.example, own);
    if (pending.cut_tokens > 0) json["cut_tokens"] = pending.cut_tokens;
    return json_text(json) + '\n';
  }

  std::string conll_of(const PendingExample& pending, std::span<const PredictedLabel> own) const {
    std::string text;
    std::size_t word = 0;
    for (const auto& [line, is_word] : pending.lines) {
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
  const TrainedClassifier run_;
  const LabelTask& task_;
  const RowEncoder encoder_;
  std::int64_t number_ = 0, begin_ = 1;  // numbers of the last line, and of the first line of a sentence
  std::int64_t added_ = 0, refused_ = 0;
  std::int64_t unknown_ = 0, tokens_ = 0;  // of all rows
  std::size_t columns_ = 0;                // for CoNLL: the columns of the first word's line; 0 before that
  std::vector<std::pair<std::string, bool>> sentence_;  // PendingExample::lines of the current sentence
  bool has_words_ = false;
  std::vector<PendingExample> pending_;
  std::vector<LabelledRow> rows_;  // the rows of the pending examples
};

}  // namespace

Command predict_command() {
  const auto arguments = std::make_shared<PredictArguments>();
  return {
      .name = "predict",
      .help = "Label the lines of standard input with a model that is fine-tuned on labels (task.kind)",
      .options = {run_argument(arguments->run),
                  checkpoint_option(arguments->run),
                  task_option(arguments->run),
                  {"--batch", &arguments->batch, "Lines that the model reads at once [16]", {.least = 1}},
                  {"--format",
                   &arguments->format,
                   "lines: a text a line; conll: a word a line, which comes out as it is with its label behind it; an "
                   "empty line ends a sentence [lines]",
                   {.words = {"lines", "conll"}}},
                  {"--text-column", &arguments->text_column,
                   "The words' column with --format conll: its number, or with - from the last [1; of CoNLL-U 2]"},
                  matmul_option(arguments->matmul),
                  {"--json", &arguments->json,
                   "Print a JSON object for each line, with probabilities; null for an empty one"}},
      .run = [arguments] { Predictor(*arguments).answer_input(); }};
}

}  // namespace tapeformer::cli
