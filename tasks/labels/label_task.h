// The tasks with labels, on which a model is fine-tuned (task.kind). Each is one file and one row of label_tasks().
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/labels/labelled_table.h"
#include "data/scores/labels.h"

namespace tapeformer {

// An example: pieces of text, each with a label. The pieces are the words of a sentence, or the only piece is the whole
// text.
struct LabelledExample {
  std::vector<std::string> pieces;
  std::vector<std::string> labels;  // one for each piece; an empty label is unknown and not scored
  std::int64_t line = 0;            // the line of the file where the example begins; 0: it is not from a file
};

struct LabelledFile {
  std::vector<LabelledExample> examples;
  std::string header = {};  // the first line, if it names the columns and is not an example; else empty
};
// Returns a note for the user about a header line that was not read as an example.
std::string header_note(const std::string& file, std::string_view header);

// The model's prediction for a piece: the most probable label, as an index into the list of labels, and the probability
// of every label. If the task extracts a span, `label` is the index of the piece where the answer begins or ends, and
// the probabilities are those of the pieces.
struct PredictedLabel {
  std::int64_t label = 0;
  std::vector<double> probabilities;

  double probability() const { return probabilities[label]; }
};

// A score of predictions, for people and programs.
struct TaskScore {
  std::vector<std::pair<std::string, double>> metrics;  // metrics by name, such as "accuracy"
  std::string table_of;                                 // what a row of the table counts: "label", "span"
  std::vector<LabelCount> table;                        // a row for each label or kind of span
  std::vector<std::string> labels;                      // the labels of the rows and columns of `confusion`
  std::vector<std::vector<std::int64_t>> confusion;     // LabelScore::confusion()
};

// The functions of a task with labels; everything else is the same for all such tasks.
struct LabelFunctions {
  // Reads a file of labelled examples. Throws Error that names file and line.
  LabelledFile (*read)(const std::filesystem::path&, const LabelledFileOptions&);
  // Parses a line of text without labels, for `predict`. Throws Error that begins with `where`.
  LabelledExample (*parse)(std::string_view line, const std::string& where);
  // Scores the predictions for each example; pieces without a label are left out.
  TaskScore (*score)(std::span<const std::string> labels, std::span<const LabelledExample> examples,
                     std::span<const std::span<const PredictedLabel>> predicted);
  // Formats one example's predictions as lines of text, and as a JSON object.
  std::string (*text)(std::span<const std::string> labels, const LabelledExample&, std::span<const PredictedLabel>);
  nlohmann::ordered_json (*json)(std::span<const std::string> labels, const LabelledExample&,
                                 std::span<const PredictedLabel>);
};

struct LabelTask {
  std::string name;                   // task.kind
  std::string help;                   // one line
  std::string metric_for_best_model;  // the name in TaskScore::metrics whose largest value chooses the best checkpoint
  // Whether one vector represents the whole text: that of [CLS], or of the last token for a model that has no [CLS].
  // Otherwise each piece is represented by its first token, or by its last one where the model is causal.
  bool pooled = false;
  // Whether the task is extractive question answering, with start and end logits: each is a softmax over the pieces of
  // a row, not over labels. The first piece of an example is then the question, which is never part of the answer, and
  // the others are the words of a text; the words of the answer have non-empty labels. A text is read only as far as
  // the model's context reaches.
  bool extracts_span = false;
  LabelFunctions functions;

  // The number of predictions that the model makes for an example.
  std::size_t predictions(const LabelledExample& example) const { return extracts_span ? 2 : example.pieces.size(); }
};

// The tasks, each in the file of its name.
LabelTask tag_task();
LabelTask classify_task();
LabelTask span_task();

const std::vector<LabelTask>& label_tasks();  // in tasks/registry.cpp
// Throws Error for an unknown name; the values of task.kind are these names and "none".
const LabelTask& find_label_task(std::string_view name);

// Splits a line at white space.
std::vector<std::string> split_words(std::string_view line);

}  // namespace tapeformer
