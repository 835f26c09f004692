#include "tasks/labels/label_eval.h"

#include "tasks/labels/trained_classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "tasks/labels/label_task.h"
#include "tasks/labels/labelled_rows.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

// The table has a row for each label or kind of span.
Json score_json(const TaskScore& score) {
  Json table = Json::array();
  for (const LabelCount& row : score.table) {
    table.push_back({{score.table_of, row.label},
                     {"gold", row.gold},
                     {"predicted", row.predicted},
                     {"right", row.right},
                     {"precision", row.precision()},
                     {"recall", row.recall()},
                     {"f1", row.f1()}});
  }
  return table;
}

void print_counts(std::ostream& table, const TaskScore& score) {
  std::size_t width = score.table_of.size();
  for (const LabelCount& row : score.table) width = std::max(width, row.label.size());
  table << fmt::format("\n{:<{}} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9}\n", score.table_of, width, "gold", "predicted",
                       "right", "precision", "recall", "F1");
  for (const LabelCount& row : score.table) {
    table << fmt::format("{:<{}} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9}\n", row.label, width, row.gold, row.predicted,
                         row.right, percent(row.precision()), percent(row.recall()), percent(row.f1()));
  }
}

void print_confusion(std::ostream& table, const TaskScore& score) {
  std::size_t width = 0;
  for (const std::string& label : score.labels) width = std::max(width, label.size());
  table << "\nrows: the right label; columns: the predicted one, in the same order\n";
  for (std::size_t i = 0; i < score.labels.size(); ++i) {
    table << fmt::format("{:<{}}", score.labels[i], width);
    for (const std::int64_t count : score.confusion[i]) table << fmt::format(" {:>6}", count);
    table << '\n';
  }
}

}  // namespace

EvalReport evaluate_labels(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  require_no_windows(request, "examples are read as in training");
  const TrainedClassifier run = open_run<TrainedClassifier>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const LabelTask& task = find_label_task(run.config.task.kind);
  LabelledFileOptions options = run.config.data.labelled_file_options();
  options.of_another_file = true;
  const LabelledFile file = task.functions.read(request.labels, options);
  const std::vector<LabelledExample>& examples = file.examples;
  if (!file.header.empty()) request.warn(header_note(request.labels, file.header));
  const RowEncoder encoder(task, run.model->encoder(), *run.tokenizer, run.labels);
  const std::vector<LabelledRow> rows = encoder.encode_all(examples, request.labels);
  for (const std::string& note : row_notes(task, rows, request.labels)) request.warn(note);
  if (const auto note = unknown_note(rows, *run.tokenizer, request.labels, 0)) request.warn(*note);
  const TaskEvaluation result = evaluate(*run.model, task, run.labels, examples, rows, request.rows(),
                                         start_progress(request.progress, "evaluating"));
  require_finite(result.evaluation);
  const TaskScore& score = result.score;
  const std::int64_t labels = result.evaluation.tokens + result.unknown_labels;
  const std::int64_t cut = std::ranges::count_if(rows, [](const LabelledRow& row) { return row.cut > 0; });

  Json json{{"examples", examples.size()}, {"labels", labels}};
  if (result.unknown_labels > 0) json["unknown_labels"] = result.unknown_labels;
  if (cut > 0) json["cut_examples"] = cut;
  json["loss"] = result.evaluation.loss();
  for (const auto& [name, value] : score.metrics) json[name] = value;
  if (!score.table.empty()) {
    json["table"] = score_json(score);
    json["confusion"] = {{"labels", score.labels}, {"counts", score.confusion}};
  }

  std::ostringstream table;
  const char* const known = task.extracts_span ? "are read" : "training has";
  const std::string of_known =
      result.unknown_labels > 0 ? fmt::format(", of the {} that {}", result.evaluation.tokens, known) : "";
  table << fmt::format("{:<15} {} with {} labels, {}\n", "examples", examples.size(), labels, run.checkpoint_text)
        << fmt::format("{:<15} {:.4f} nats per label{}\n", "loss", result.evaluation.loss(), of_known);
  for (const auto& [name, value] : score.metrics) table << fmt::format("{:<15} {}\n", name, percent(value));
  if (!score.table.empty()) {
    print_counts(table, score);
    print_confusion(table, score);
  }
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace tapeformer
