#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/input_lines.h"
#include "cli/run_model.h"
#include "cli/terminal/terminal.h"
#include "cli/usage.h"
#include "train/tasks/labelled_rows.h"

namespace tapeformer::cli {
namespace {

struct PredictArguments {
  std::string run;
  std::optional<MatmulSetting> matmul;
  std::int64_t batch = 16;
  bool json = false;
};

// Reads standard input some lines at a time. An empty line is answered by an empty line (with --json: null).
class Predictor {
 public:
  explicit Predictor(const PredictArguments& arguments)
      : arguments_(arguments),
        run_(open_labeller(arguments.run, {.matmul = arguments.matmul})),
        task_(find_task(run_.config.task.kind)),
        encoder_(task_, run_.model->encoder(), *run_.tokenizer, run_.labels) {}

  void answer_input() {
    const kernels::MatmulPrecisionScope precision(run_.matmul);
    InputLines input("predicting");
    std::string line;
    for (std::int64_t number = 1; input.next(line); ++number) {
      const std::string where = str_cat("line ", number, ": ");
      const bool is_empty = line.find_first_not_of(' ') == line.npos;
      LabelledExample example;
      std::vector<LabelledRow> rows;
      try {
        if (!is_empty) example = task_.parse(line, where), rows = encoder_.encode(example, where);
      } catch (const Error&) {
        flush();  // the lines before it are answered
        throw;
      }
      examples_.push_back(std::move(example));
      std::ranges::move(rows, std::back_inserter(rows_));
      is_empty_.push_back(is_empty);
      if (std::ssize(rows_) >= arguments_.batch) flush();
    }
    flush();
  }

 private:
  void flush() {
    const auto predicted = predict_labels(*run_.model, task_, rows_, arguments_.batch);
    std::span<const PredictedLabel> left = predicted;
    for (std::size_t i = 0; i < examples_.size(); ++i) {
      const auto own = left.first(is_empty_[i] ? 0 : task_.predictions(examples_[i]));
      left = left.subspan(own.size());
      if (is_empty_[i]) {
        std::cout << (arguments_.json ? "null\n" : "\n");
      } else if (arguments_.json) {
        using Json = nlohmann::ordered_json;
        std::cout << task_.json(run_.labels, examples_[i], own).dump(-1, ' ', false, Json::error_handler_t::replace)
                  << '\n';
      } else {
        std::cout << output_text(task_.text(run_.labels, examples_[i], own));
      }
    }
    std::cout << std::flush;
    examples_.clear(), rows_.clear(), is_empty_.clear();
  }

  const PredictArguments& arguments_;
  const TrainedLabeller run_;
  const Task& task_;
  const RowEncoder encoder_;
  std::vector<LabelledExample> examples_;  // that wait for an answer
  std::vector<LabelledRow> rows_;          // of those that are not empty
  std::vector<bool> is_empty_;
};

}  // namespace

void add_predict_command(CLI::App& app) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand(
      "predict", "Label the lines of standard input with a model that is fine-tuned on labels (task.kind)");
  command->add_option("run", arguments->run, "A run's folder, or one checkpoint folder in it")->required();
  command->add_option("--batch", arguments->batch, "Lines that are read at once [16]")->check(at_least(1));
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--json", arguments->json,
                    "Print a JSON object for each line, with probabilities; null for an empty one");
  command->callback([arguments] { Predictor(*arguments).answer_input(); });
}

}  // namespace tapeformer::cli
