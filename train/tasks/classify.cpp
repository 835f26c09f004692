// Classification: a label for a whole text (Devlin et al. 2019, section 4.1).
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/lines.h"
#include "data/text/text.h"
#include "train/tasks/task.h"

namespace tapeformer {
namespace {

LabelledExample example_of(std::string text, std::string label, const std::string& where) {
  check(!text.empty() && !label.empty(), where, "expected a label and a text, got an empty ",
        label.empty() ? "label" : "text");
  return {{std::move(text)}, {std::move(label)}};
}

std::vector<LabelledExample> read(const std::filesystem::path& path) {
  std::vector<LabelledExample> examples;
  const std::string content = read_text_file(path);
  if (has_json_lines(path)) {
    for_each_json_line(path, content, [&](const nlohmann::json& object, const std::string& where) {
      examples.push_back(example_of(string_field(object, "text", where), string_field(object, "label", where), where));
    });
  } else {
    for_each_line(content, [&](std::string_view line, std::size_t number) {
      const std::string where = str_cat(path.string(), ":", number, ": ");
      const std::size_t tab = line.find('\t');
      check(tab != line.npos, where, "expected a label, a tab and a text, got \"", line, '"');
      examples.push_back(example_of(std::string(line.substr(tab + 1)), std::string(line.substr(0, tab)), where));
    });
  }
  check(!examples.empty(), path.string(), ": expected lines of a label, a tab and a text, got none");
  return examples;
}

LabelledExample parse(std::string_view line, const std::string&) { return {{std::string(line)}, {""}}; }

TaskScore score(std::span<const std::string> labels, std::span<const LabelledExample> examples,
                std::span<const std::span<const PredictedLabel>> predicted) {
  LabelScore texts(labels);
  for (std::size_t i = 0; i < examples.size(); ++i) texts.add(examples[i].labels[0], labels[predicted[i][0].label]);
  return {.measures = {{"macro_f1", texts.macro_f1()}, {"accuracy", texts.accuracy()}},
          .table_of = "label",
          .table = texts.counts(),
          .labels = texts.labels(),
          .confusion = texts.confusion()};
}

std::string text(std::span<const std::string> labels, const LabelledExample&,
                 std::span<const PredictedLabel> predicted) {
  char number[16];
  std::snprintf(number, sizeof(number), "%.4f", predicted[0].probability());
  return str_cat(labels[predicted[0].label], '\t', number, '\n');
}

nlohmann::ordered_json json(std::span<const std::string> labels, const LabelledExample&,
                            std::span<const PredictedLabel> predicted) {
  nlohmann::ordered_json probabilities;
  for (std::size_t i = 0; i < labels.size(); ++i) probabilities[labels[i]] = predicted[0].probabilities[i];
  return {{"label", labels[predicted[0].label]}, {"probabilities", probabilities}};
}

}  // namespace

Task classify_task() {
  return {.name = "classify",
          .help = "a label for each text",
          .measure = "macro_f1",
          .pooled = true,
          .read = read,
          .parse = parse,
          .score = score,
          .text = text,
          .json = json};
}

}  // namespace tapeformer
