// Sequence classification: one label for a whole text (Devlin et al. 2019, section 4.1).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tasks/labels/label_task.h"

namespace tapeformer {
namespace {

LabelledFile read_texts(const std::filesystem::path& path, const LabelledFileOptions& format) {
  LabelledTable table = read_table(path, {{"label", "text"}, "a label, a tab and a text"}, format);
  LabelledFile file{{}, std::move(table.header)};
  for (TableRow& row : table.rows) {
    std::string &label = row.fields[0], &text = row.fields[1];
    check(!text.empty() && !label.empty(), path.string(), ":", row.line, ": expected a label and a text, got an empty ",
          label.empty() ? "label" : "text");
    file.examples.push_back({{std::move(text)}, {std::move(label)}, row.line});
  }
  check(!file.examples.empty(), path.string(), ": expected lines of a label, a tab and a text, got none");
  return file;
}

LabelledExample parse_text(std::string_view line, const std::string&) { return {{std::string(line)}, {""}}; }

TaskScore score_classes(std::span<const std::string> labels, std::span<const LabelledExample> examples,
                        std::span<const std::span<const PredictedLabel>> predicted) {
  LabelScore texts(labels);
  for (std::size_t i = 0; i < examples.size(); ++i) texts.add(examples[i].labels[0], labels[predicted[i][0].label]);
  return {.metrics = {{"macro_f1", texts.macro_f1()}, {"accuracy", texts.accuracy()}},
          .table_of = "label",
          .table = texts.counts(),
          .labels = texts.labels(),
          .confusion = texts.confusion()};
}

std::string class_text(std::span<const std::string> labels, const LabelledExample&,
                       std::span<const PredictedLabel> predicted) {
  return str_cat(labels[predicted[0].label], '\t', fmt::format("{:.4f}", predicted[0].probability()), '\n');
}

nlohmann::ordered_json class_json(std::span<const std::string> labels, const LabelledExample&,
                                  std::span<const PredictedLabel> predicted) {
  nlohmann::ordered_json probabilities;
  for (std::size_t i = 0; i < labels.size(); ++i) probabilities[labels[i]] = predicted[0].probabilities[i];
  return {{"label", labels[predicted[0].label]}, {"probabilities", probabilities}};
}

}  // namespace

LabelTask classify_task() {
  return {.name = "classify",
          .help = "a label for each text",
          .metric_for_best_model = "macro_f1",
          .pooled = true,
          .functions = {
              .read = read_texts, .parse = parse_text, .score = score_classes, .text = class_text, .json = class_json}};
}

}  // namespace tapeformer
