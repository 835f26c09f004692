// Tagging: a label for each word of a sentence, read from the vector of the word's first token (Devlin et al. 2019,
// section 5.3).
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/text/labelled_text.h"
#include "data/text/text.h"
#include "train/tasks/task.h"

namespace tapeformer {
namespace {

std::vector<std::string> strings_of(const nlohmann::json& object, const char* field, const std::string& where) {
  const auto found = object.find(field);
  const bool strings = found != object.end() && found->is_array() &&
                       std::ranges::all_of(*found, [](const nlohmann::json& item) { return item.is_string(); });
  check(strings, where, "expected a list of strings in the field \"", field, '"');
  return found->get<std::vector<std::string>>();
}

std::vector<LabelledExample> read_json(const std::filesystem::path& path) {
  std::vector<LabelledExample> examples;
  for_each_json_line(path, read_text_file(path), [&](const nlohmann::json& object, const std::string& where) {
    LabelledExample example{strings_of(object, "words", where), strings_of(object, "labels", where)};
    check(!example.pieces.empty() && example.pieces.size() == example.labels.size(), where, "got ",
          example.pieces.size(), " words and ", example.labels.size(), " labels: expected as many, and at least one");
    examples.push_back(std::move(example));
  });
  return examples;
}

std::vector<LabelledExample> read(const std::filesystem::path& path) {
  if (has_json_lines(path)) return read_json(path);
  std::vector<LabelledExample> examples;
  const LabelledText text = LabelledText::from_file(path);
  for (const LabelledSentence& sentence : text.sentences()) {
    LabelledExample& example = examples.emplace_back();
    for (const LabelledWord& word : sentence) {
      example.pieces.emplace_back(word.word);
      example.labels.emplace_back(word.label);
    }
  }
  return examples;
}

LabelledExample parse(std::string_view line, const std::string&) {
  LabelledExample example{split_words(line), {}};
  example.labels.resize(example.pieces.size());
  return example;
}

TaskScore score(std::span<const std::string> labels, std::span<const LabelledExample> examples,
                std::span<const std::span<const PredictedLabel>> predicted) {
  LabelScore words(labels);
  SpanScore spans(are_bio_labels(labels));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::vector<std::string>& gold = examples[i].labels;
    std::vector<std::string_view> found;
    for (const PredictedLabel& prediction : predicted[i]) found.push_back(labels[prediction.label]);
    for (std::size_t w = 0; w < gold.size(); ++w) {
      gold[w].empty() ? void(found[w] = "") : words.add(gold[w], found[w]);
    }
    spans.add(std::vector<std::string_view>(gold.begin(), gold.end()), found);
  }
  const LabelCount all = spans.total();
  return {.measures = {{"span_f1", all.f1()},
                       {"span_precision", all.precision()},
                       {"span_recall", all.recall()},
                       {"accuracy", words.accuracy()}},
          .table_of = "span",
          .table = spans.counts(),
          .labels = words.labels(),
          .confusion = words.confusion()};
}

std::string text(std::span<const std::string> labels, const LabelledExample& example,
                 std::span<const PredictedLabel> predicted) {
  std::string lines;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    char number[16];
    std::snprintf(number, sizeof(number), "%.4f", predicted[i].probability());
    lines += str_cat(example.pieces[i], '\t', labels[predicted[i].label], '\t', number, '\n');
  }
  return lines + "\n";
}

nlohmann::ordered_json json(std::span<const std::string> labels, const LabelledExample& example,
                            std::span<const PredictedLabel> predicted) {
  std::vector<std::string> names;
  std::vector<double> probabilities;
  for (const PredictedLabel& prediction : predicted) {
    names.push_back(labels[prediction.label]);
    probabilities.push_back(prediction.probability());
  }
  return {{"words", example.pieces}, {"labels", names}, {"probabilities", probabilities}};
}

}  // namespace

Task tag_task() {
  return {.name = "tag",
          .help = "a label for each word (BIO or plain ones)",
          .measure = "span_f1",
          .read = read,
          .parse = parse,
          .score = score,
          .text = text,
          .json = json};
}

}  // namespace tapeformer
