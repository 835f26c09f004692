// The table of tasks on which a model is fine-tuned (task.kind). A task is one file and one row; nothing else names it.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/scores/labels.h"

namespace tapeformer {

// A text in pieces that get a label each: the words of a sentence, or one piece, the whole text.
struct LabelledExample {
  std::vector<std::string> pieces;
  std::vector<std::string> labels;  // one for each piece; empty where it is not known, and not scored
};

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

struct Task {
  std::string name;     // task.kind
  std::string help;     // one line
  std::string measure;  // of TaskScore::measures: the best checkpoint is the one where it is largest
  // Whether one vector stands for the whole text: that of [CLS], or of the last token for a model that has none. Else a
  // piece is read from the vector of its first token.
  bool pooled = false;
  // Whether the labels, "start" and "end", each point to a piece: a softmax over the pieces of a row, not over labels.
  // The first piece of an example is then a question, to which none points, and the others are the words of a text; the
  // labels of the words that answer are not empty. A text is read as far as the model's context reaches.
  bool points = false;
  // Reads a file of labelled examples. Throws Error that names file and line.
  std::vector<LabelledExample> (*read)(const std::filesystem::path&);
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
Task tag_task();
Task classify_task();
Task span_task();

const std::vector<Task>& tasks();
// Throws Error for a name that no row has; the words of task.kind are these names and "none".
const Task& find_task(std::string_view name);
// The value of task.kind for a model that is trained for what its family is for.
inline constexpr std::string_view kNoTask = "none";

// The objects of a file of JSON lines: calls visit(object, "FILE:LINE: ") for each line that is not empty.
void for_each_json_line(const std::filesystem::path& path, std::string_view text,
                        const std::function<void(const nlohmann::json&, const std::string& where)>& visit);
// A string of such an object. Throws Error that begins with `where`.
std::string string_field(const nlohmann::json& object, const char* field, const std::string& where);
// What white space separates.
std::vector<std::string> split_words(std::string_view line);
// Whether a file has JSON lines: its name ends with .jsonl, before an ending for compression.
bool has_json_lines(const std::filesystem::path& path);

}  // namespace tapeformer
