// The table of tasks. A task is what a model is trained for. It consists of a folder of tasks/ with one row of this
// table. Code in train/ names no task: what it needs to know of one is in the row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "nn/models/registry.h"

namespace tapeformer {

class EncoderForClassification;
class Objective;
class ResolvedConfig;
struct EvalReport;
struct EvalRequest;
struct ObjectiveData;
struct Plan;
struct PlanRequest;
struct RunFolder;

// The prefix of the names of classifiers' tensors, such as "task.output.weight" or, if several tasks share a model,
// "task.NAME.output.weight".
inline constexpr std::string_view kClassifierTensors = "task.";

// The heads that a task adds to the model of a family, for training.
struct TaskHeads {
  // Makes the model with its heads and adapters (train.lora.*); its parameters are not initialized yet. Null: the task
  // needs no heads besides the model's own.
  std::function<std::unique_ptr<Model>(const ResolvedConfig&, const ModelVocabulary&)> make;
  std::vector<ModelPart> parts = {};  // parts of the model after those of its family
  bool f32_only = false;              // models with these heads support no weight format but f32 (--weights)
  bool are_embeddings = false;        // the model has tables of vectors and no head: optimizer.head_lr means nothing
  // Counts the operations of the heads' forward pass for each token that the model reads.
  std::function<double(const ResolvedConfig&, const Module& model, const ModelVocabulary&)> flops = {};
};

// A model that several tasks train: that of a family, with the heads of its task.
struct SharedModel {
  std::shared_ptr<Model> model;
  // Makes the objective of the family's task on the model.
  std::function<std::unique_ptr<Objective>(const ResolvedConfig&, std::unique_ptr<ObjectiveData>)> objective;
};

// An objective on a shared model, and the classifier that it owns.
struct SharedObjective {
  std::unique_ptr<Objective> objective;
  const EncoderForClassification* classifier;  // null for a task of text
};

struct TaskRow {
  // The name, to which ModelFamily::task refers. For a task on which models are fine-tuned, it is a value of task.kind.
  std::string name;
  std::string help;         // one line
  bool fine_tunes = false;  // models of several families can be fine-tuned on the task (task.kind)
  bool has_labels = false;  // its runs have labels, and a classifier of them in place of the model's own head
  // Fine-tuning changes the vectors that the family's model gives to a text, and leaves its heads untrained, so
  // commands read only the vectors of its runs.
  bool tunes_vectors = false;
  // Its runs train the tasks of [tasks.NAME] together: the model of their family with its heads, and a classifier for
  // each task with labels.
  bool is_multi_task = false;
  // The kind of training data that implies task.kind = name, such as "data.conversations"; "tasks" for sections
  // [tasks.NAME]; empty: none.
  std::string implied_by = {};
  // Texts for users: what a model of the task is called ("a language model"), and which commands take its runs.
  std::string model, commands;
  // The commands that `train` suggests at the end of a training; % is replaced by the run's folder.
  std::vector<std::string> next_commands;
  // The option of `eval` that names the data: "text", "source" (with "target"), "labels", "images", "conversations" or
  // "pairs"; "validation data" for a task that is evaluated on the validation data of its configuration.
  std::string eval_input;
  std::string loss_unit = "nats per token";  // losses of different units cannot be compared
  bool has_perplexity = true;                // exp(loss) is the perplexity of a text
  // The loss of the training text and that of the validation text are of one kind, so their difference means something.
  bool losses_compare = true;
  // The metric in Evaluation::metrics that is largest for the best checkpoint; empty: the best one has the smallest
  // loss.
  std::string metric_for_best_model = {};
  bool makes_text = false;          // its models can generate samples (train.sample_every)
  bool has_bleu = false;            // its models are also evaluated by BLEU (eval.bleu_every)
  bool has_two_tokenizers = false;  // sources and targets may have a tokenizer each (tokenizer.joint = false)
  bool reads_sentences = false;  // a row of a batch is an example, such as a sentence; else rows are cut from one text
  std::int64_t least_rows = 1;   // the fewest rows of a step whose loss means something
  // The keys of [task] that it reads, besides `kind`. The others must have their defaults.
  std::vector<std::string> keys = {};

  TaskHeads heads = {};

  // Whether it trains the head that the model's family gives it, and nothing else.
  bool trains_family_head() const { return !has_labels && !tunes_vectors && !is_multi_task; }

  // Throws UsageError for values of a configuration that do not fit the task.
  std::function<void(const ResolvedConfig&)> check;
  // Reads the data. Tokenizers and labels are those of the run that is resumed, or of the files that the configuration
  // names, or are learned from the data. Reports its progress.
  std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&, const RunFolder* resumed, const ProgressMaker&)>
      prepare;
  // Makes random data that replaces the configuration's own in a dry run (dummy_data()).
  std::function<std::unique_ptr<ObjectiveData>(const ResolvedConfig&, const RunFolder* run)> dummy;
  // Makes the objective on data that prepare() or dummy() has returned, with a model whose parameters are not
  // initialized yet.
  std::function<std::unique_ptr<Objective>(const ResolvedConfig&, std::unique_ptr<ObjectiveData>)> make;
  // For a task of text: makes a model that is trained on other tasks too, its parameters not initialized yet.
  std::function<SharedModel(const ResolvedConfig&, const ModelVocabulary&)> make_shared = {};
  // For a task with labels: makes the objective on a model that is trained on other tasks too.
  std::function<SharedObjective(const ResolvedConfig&, std::unique_ptr<ObjectiveData>, std::shared_ptr<Model>)>
      make_on = {};
  // Chooses the keys of a training that lasts PlanRequest::minutes (tasks/plan/plan.h). Null: the task makes no plans.
  std::function<Plan(const PlanRequest&)> plan = {};
  // Returns a line of text, which ends with a newline, about the loss of the best possible model on the configuration's
  // generated corpus; "" if that loss is not known. Null: it is the entropy of the corpus.
  std::function<std::string(const ResolvedConfig&)> optimum = {};
  // Does the work of the command `eval` for a run of the task.
  std::function<EvalReport(const EvalRequest&)> evaluate;
};

// Returns all tasks; the built-in ones (tasks/registry.cpp) come first.
const std::vector<TaskRow>& task_rows();
// Adds a task to the table. Throws Error if a task of that name exists already.
void register_task(TaskRow row);
// Throws Error for an unknown name.
const TaskRow& find_task_row(std::string_view name);
// The value of task.kind for a model that is trained on the task of its family.
inline constexpr std::string_view kNoTask = "none";

}  // namespace tapeformer
