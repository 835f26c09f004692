// Token classification: a label for each word of a sentence, read from the vector of the word's first token (Devlin et
// al. 2019, section 5.3); in a causal model, of its last token, since the first one has not seen the rest of the word.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "data/labels/labelled_text.h"
#include "data/text/text_files.h"
#include "tasks/labels/label_task.h"

namespace tapeformer {
namespace {

std::vector<std::string> strings_of(const nlohmann::json& object, const std::string& field, const std::string& where) {
  const auto found = object.find(field);
  const bool strings = found != object.end() && found->is_array() &&
                       std::ranges::all_of(*found, [](const nlohmann::json& item) { return item.is_string(); });
  check(strings, where, "expected a list of strings in the field \"", field, '"');
  return found->get<std::vector<std::string>>();
}

std::vector<LabelledExample> examples_of_json(std::string_view text, const std::string& origin,
                                              const LabelledFileOptions& format) {
  const std::string words = format.text_column.empty() ? "words" : format.text_column,
                    labels = format.label_column.empty() ? "labels" : format.label_column;
  std::vector<LabelledExample> examples;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const std::string where = str_cat(origin, ":", number, ": ");
    const auto object = parse_json<nlohmann::json>(line, where);
    check(object.is_object(), where, "expected a JSON object, got \"", line, '"');
    LabelledExample example{strings_of(object, words, where), strings_of(object, labels, where),
                            static_cast<std::int64_t>(number)};
    check(!example.pieces.empty() && example.pieces.size() == example.labels.size(), where, "got ",
          example.pieces.size(), " words and ", example.labels.size(), " labels: expected as many, and at least one");
    check(!std::ranges::count(example.pieces, ""), where, "expected words, got an empty one");
    examples.push_back(std::move(example));
  });
  return examples;
}

LabelledFile read_tags(const std::filesystem::path& path, const LabelledFileOptions& format) {
  const std::string content = read_text_file(path);
  if (format_of(content, path.string(), word_table(), format) == LabelFormat::jsonl) {
    return {examples_of_json(content, path.string(), format)};
  }
  const LabelledText text = LabelledText::from_text(content, path.string(), format);
  LabelledFile file{{}, text.header()};
  for (const LabelledSentence& sentence : text.sentences()) {
    LabelledExample& example = file.examples.emplace_back();
    example.line = sentence.front().line;
    for (const LabelledWord& word : sentence) {
      example.pieces.push_back(word.word);
      example.labels.push_back(word.label);
    }
  }
  return file;
}

LabelledExample parse_words(std::string_view line, const std::string&) {
  LabelledExample example{split_words(line), {}};
  example.labels.resize(example.pieces.size());
  return example;
}

TaskScore score_tags(std::span<const std::string> labels, std::span<const LabelledExample> examples,
                     std::span<const std::span<const PredictedLabel>> predicted) {
  LabelScore words(labels);
  SpanScore spans(are_bio_labels(labels));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::vector<std::string>& gold = examples[i].labels;
    std::vector<std::string_view> found;
    for (const PredictedLabel& prediction : predicted[i]) found.push_back(labels[prediction.label]);
    for (std::size_t w = 0; w < gold.size(); ++w) {
      if (gold[w].empty()) {
        found[w] = "";
      } else {
        words.add(gold[w], found[w]);
      }
    }
    spans.add(std::vector<std::string_view>(gold.begin(), gold.end()), found);
  }
  const LabelCount all = spans.total();
  return {.metrics = {{"span_f1", all.f1()},
                      {"span_precision", all.precision()},
                      {"span_recall", all.recall()},
                      {"accuracy", words.accuracy()}},
          .table_of = "span",
          .table = spans.counts(),
          .labels = words.labels(),
          .confusion = words.confusion()};
}

std::string tags_text(std::span<const std::string> labels, const LabelledExample& example,
                      std::span<const PredictedLabel> predicted) {
  std::string lines;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    lines += str_cat(example.pieces[i], '\t', labels[predicted[i].label], '\t',
                     fmt::format("{:.4f}", predicted[i].probability()), '\n');
  }
  return lines + "\n";
}

nlohmann::ordered_json tags_json(std::span<const std::string> labels, const LabelledExample& example,
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

LabelTask tag_task() {
  return {.name = "tag",
          .help = "a label for each word (BIO, IOBES, BMES, BILOU or plain ones)",
          .metric_for_best_model = "span_f1",
          .functions = {
              .read = read_tags, .parse = parse_words, .score = score_tags, .text = tags_text, .json = tags_json}};
}

}  // namespace tapeformer
