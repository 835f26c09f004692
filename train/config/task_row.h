// The table of tasks: what a model is trained for. A task is a folder of tasks/ with one row; no other code names it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "nn/models/registry.h"

namespace tapeformer {

class Objective;
class ResolvedConfig;
struct EvalReport;
struct EvalRequest;
struct ObjectiveData;
struct RunFolder;

// The heads that a task adds to the model of a family, for training.
struct TaskHeads {
  // Makes the model with its heads, its parameters not initialized yet. Null: the model predicts by itself.
  std::function<std::unique_ptr<Model>(const ResolvedConfig&, const ModelVocabulary&)> make;
  std::vector<ModelPart> parts = {};  // parts of the model after those of its family
  // Counts the operations of the heads' forward pass for each token that the model reads.
  std::function<double(const ResolvedConfig&, const Module& model, const ModelVocabulary&)> flops = {};
};

struct TaskRow {
  // The name: what ModelFamily::task refers to, or a value of task.kind for tasks on which models are fine-tuned.
  std::string name;
  std::string help;         // one line
  bool fine_tunes = false;  // the name is a value of task.kind, for models of several families
  // Texts for users: what its models are called ("a language model"), and which commands read them.
  std::string model, commands;
  // The commands that are printed after a training; % is replaced by the run's folder.
  std::vector<std::string> next_commands;
  std::string eval_input;  // the option that names what `eval` reads: "text", "source" (with "target"), "labels"
  std::string loss_unit = "nats per token";  // losses of different units cannot be compared
  bool has_perplexity = true;                // exp(loss) is the perplexity of a text
  // The metric in Evaluation::measures whose largest value chooses the best checkpoint; empty: the smallest loss
  // chooses.
  std::string metric = {};
  bool makes_text = false;       // it can make samples (train.sample_every)
  bool has_bleu = false;         // it is evaluated by BLEU (eval.bleu_every)
  bool reads_sentences = false;  // its rows are as long as its examples; else they are cut from one text

  TaskHeads heads = {};

  // Throws UsageError for values of a configuration that do not fit the task.
  std::function<void(const ResolvedConfig&)> check;
  // Reads the data. Tokenizers and labels come from the run that is resumed, or from the files that the configuration
  // names, or are learned. Shows the progress.
  std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&, const RunFolder* resumed, const ProgressMaker&)>
      prepare;
  // Makes random data that replaces the configuration's own in a dry run (dummy_data()).
  std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&, const RunFolder* run)> dummy;
  // Makes the model, its parameters not initialized yet, and the objective on data that prepare() or dummy() gave.
  std::function<std::unique_ptr<Objective>(const ResolvedConfig&, std::unique_ptr<ObjectiveData>)> make;
  // Says in a line, with its end, which loss the best possible model has on the configuration's generated corpus; ""
  // if that is not known. Null for the entropy of the corpus.
  std::function<std::string(const ResolvedConfig&)> optimum = {};
  // What the command `eval` does for a run of the task.
  std::function<EvalReport(const EvalRequest&)> evaluate;
};

// All tasks; the built-in ones (tasks/registry.cpp) come first.
const std::vector<TaskRow>& task_rows();
// Throws Error when a task of that name exists already.
void register_task(TaskRow row);
// Throws Error for an unknown name.
const TaskRow& find_task_row(std::string_view name);
// The value of task.kind for a model that is trained on the task of its family.
inline constexpr std::string_view kNoTask = "none";

}  // namespace tapeformer
