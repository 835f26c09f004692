// The table of tasks on which a model is fine-tuned (task.kind). A task is one file and one row; nothing else names it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/scores/labels.h"
#include "data/text/labelled_table.h"

namespace tapeformer {

// A text in pieces that get a label each: the words of a sentence, or one piece, the whole text.
struct LabelledExample {
  std::vector<std::string> pieces;
  std::vector<std::string> labels;  // one for each piece; empty where it is not known, and not scored
  std::int64_t line = 0;            // of its file, where it begins; 0: of none
};

struct LabelledFile {
  std::vector<LabelledExample> examples;
  std::string header = {};  // the first line, where it names the columns and is no example; else empty
};
// What a user should know of such a line.
std::string header_note(const std::string& file, std::string_view header);

// What a model says of a piece: the likeliest label, a place in the list of labels, and the probability of every label.
// In a task that points: which piece is the answer's first or last one, and the probability of every piece to be that.
struct PredictedLabel {
  std::int64_t label = 0;
  std::vector<double> probabilities;

  double probability() const { return probabilities[label]; }
};

// A score of predictions, for people and programs.
struct TaskScore {
  std::vector<std::pair<std::string, double>> measures;  // by name, such as "accuracy"
  std::string table_of;                                  // what the table counts: "label", "span"
  std::vector<LabelCount> table;                         // a row for each of them
  std::vector<std::string> labels;                       // of the rows and columns of `confusion`
  std::vector<std::vector<std::int64_t>> confusion;      // LabelScore::confusion()
};

struct LabelTask {
  std::string name;    // task.kind
  std::string help;    // one line
  std::string metric;  // of TaskScore::measures: the best checkpoint is the one where it is largest
  // Whether one vector stands for the whole text: that of [CLS], or of the last token for a model that has none. Else a
  // piece is read from the vector of its first token, or of its last one where the model is causal.
  bool pooled = false;
  // Whether the labels, "start" and "end", each point to a piece: a softmax over the pieces of a row, not over labels.
  // The first piece of an example is then a question, to which none points, and the others are the words of a text; the
  // labels of the words that answer are not empty. A text is read as far as the model's context reaches.
  bool points = false;
  // Reads a file of labelled examples. Throws Error that names file and line.
  LabelledFile (*read)(const std::filesystem::path&, const LabelledFormat&);
  // A line of text without labels, as `predict` reads it. Throws Error that begins with `where`.
  LabelledExample (*parse)(std::string_view line, const std::string& where);
  // Scores the predictions of examples, a list for each one; pieces without a label are left out.
  TaskScore (*score)(std::span<const std::string> labels, std::span<const LabelledExample> examples,
                     std::span<const std::span<const PredictedLabel>> predicted);
  // One example's predictions as lines of text, and as a JSON object.
  std::string (*text)(std::span<const std::string> labels, const LabelledExample&, std::span<const PredictedLabel>);
  nlohmann::ordered_json (*json)(std::span<const std::string> labels, const LabelledExample&,
                                 std::span<const PredictedLabel>);

  // How many predictions the model makes of an example.
  std::size_t predictions(const LabelledExample& example) const { return points ? 2 : example.pieces.size(); }
};

// The rows, each in the file of its name.
LabelTask tag_task();
LabelTask classify_task();
LabelTask span_task();

const std::vector<LabelTask>& label_tasks();  // in tasks/registry.cpp
// Throws Error for a name that no row has; the words of task.kind are these names and "none".
const LabelTask& find_label_task(std::string_view name);

// What white space separates.
std::vector<std::string> split_words(std::string_view line);

}  // namespace tapeformer
