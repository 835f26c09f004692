// The table of tasks: what a model is trained for. A task is a folder of tasks/ with one row; nothing else names it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"

namespace tapeformer {

class Objective;
class ResolvedConfig;
struct EvalReport;
struct EvalRequest;
struct ObjectiveData;
struct RunFolder;

struct TaskRow {
  // What a family's row names (ModelFamily::task) or, of a task on which models are fine-tuned, a word of task.kind.
  std::string name;
  std::string help;         // one line
  bool fine_tunes = false;  // it is a task.kind, for models of several families
  // What people read: what its models are ("a language model"), and which commands read them.
  std::string model, commands;
  // What is printed behind a training, with the run's folder in the place of %.
  std::vector<std::string> next_commands;
  std::string eval_input;  // the option that names what `eval` reads: "text", "source" (with "target"), "labels"
  std::string loss_unit = "nats per token";  // losses of different units do not compare
  bool has_perplexity = true;                // exp(loss) is the perplexity of a text
  // The measure of Evaluation::measures whose largest value chooses the best checkpoint; empty: the smallest loss does.
  std::string metric = {};
  bool makes_text = false;       // there are samples (train.sample_every)
  bool has_bleu = false;         // eval.bleu_every counts
  bool reads_sentences = false;  // its rows are as long as its examples; else they are cut from one text

  // Throws UsageError for values of a configuration that do not go with the task.
  std::function<void(const ResolvedConfig&)> check;
  // Reads the data. Tokenizers and labels are those of the run that is resumed, or those that the configuration names,
  // or they are learned. Shows the progress.
  std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&, const RunFolder* resumed, const ProgressMaker&)>
      prepare;
  // Data in the place of the configuration's own, for a dry run (dummy_data()).
  std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&, const RunFolder* run)> dummy;
  // Makes the model, its parameters not set yet, and the objective on data that prepare() or dummy() gave.
  std::function<std::unique_ptr<Objective>(const ResolvedConfig&, std::unique_ptr<ObjectiveData>)> make;
  // What `eval` does for a run of the task.
  std::function<EvalReport(const EvalRequest&)> evaluate;
};

// All tasks, those of this program (tasks/registry.cpp) first.
const std::vector<TaskRow>& task_rows();
// Throws Error when a task of that name is there already.
void register_task(TaskRow row);
// Throws Error for an unknown name.
const TaskRow& find_task_row(std::string_view name);
// The value of task.kind for a model that is trained for what its family is for.
inline constexpr std::string_view kNoTask = "none";

}  // namespace tapeformer
