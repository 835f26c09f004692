#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/keys.h"
#include "data/labels/csv.h"
#include "tasks/common/eval.h"

namespace tapeformer::cli {
namespace {

struct EvalArguments : EvalRequest {
  bool json = false;
};

// Returns the task that evaluates this kind of input: the run's own task, or else its family's task, or else the first
// task in the table that reads such input. In the last case evaluate() throws an error that says what the model is.
const TaskRow& task_for(const RunSelection& run, std::string_view input) {
  const TaskRow& task = task_of_run(run);
  if (task.eval_input == input) return task;
  const TaskRow& of_family = find_task_row(family_of_run(run).task);
  if (of_family.eval_input == input) return of_family;
  return *std::ranges::find(task_rows(), input, &TaskRow::eval_input);
}

void print_evaluation(EvalArguments& arguments) {
  const std::string_view input = !arguments.images.empty()          ? "images"
                                 : !arguments.labels.empty()        ? "labels"
                                 : !arguments.conversations.empty() ? "conversations"
                                 : !arguments.pairs.empty()         ? "pairs"
                                 : !arguments.source.empty()        ? "source"
                                                                    : "text";
  const bool is_given = input != "text" || !arguments.text.empty();
  if (!is_given && !task_of_run(arguments.run).is_multi_task) {
    fail_usage(
        "eval: expected --text FILE, --source FILE and --target FILE, --labels FILE, --images FOLDER, --conversations "
        "FILE, or --pairs FILE");
  }
  arguments.progress = show_progress;
  arguments.warn = warn;
  arguments.on_loaded = log_loaded;
  const TaskRow& task = is_given ? task_for(arguments.run, input) : task_of_run(arguments.run);
  const EvalReport report = task.evaluate(arguments);
  print_result(
      arguments.json, [&] { return report.json; }, [&] { return output_text(report.table); });
}

}  // namespace

Command eval_command() {
  const auto arguments = std::make_shared<EvalArguments>();
  return {
      .name = "eval",
      .help = "Loss, perplexity and bits per byte of a text; scores of translations, captions, answers, labels, pairs",
      .options = {run_argument(arguments->run),
                  checkpoint_option(arguments->run),
                  task_option(arguments->run, {.needs = {"--labels"}}),
                  {"--labels",
                   &arguments->labels,
                   "Labelled text, for a model that is fine-tuned on labels: a file as data.labels has it",
                   {.excludes = {"--text", "--source"}}},
                  {"--images",
                   &arguments->images,
                   "Images with captions, for a model of images: a folder as data.images has it",
                   {.excludes = {"--text", "--source", "--labels", "--stride", "--context"}}},
                  {"--conversations",
                   &arguments->conversations,
                   "Conversations, for a model that answers: a file as data.conversations has it",
                   {.excludes = {"--text", "--source", "--labels", "--images"}}},
                  {"--pairs",
                   &arguments->pairs,
                   "Lines of two sentences that say the same, separated by a tab: how often the second one is found by "
                   "the mean vectors of any model",
                   {.excludes = {"--labels", "--text", "--source", "--stride", "--context", "--no-pseudo", "--images",
                                 "--conversations"}}},
                  {"--text", &arguments->text, "Text file, for a language model"},
                  source_option(arguments->source, {"--text"}),
                  target_option(arguments->target),
                  {"--stride",
                   &arguments->stride,
                   "Tokens between the beginnings of windows; smaller is slower and sees more context [the context]",
                   {.least = 1, .excludes = {"--source"}}},
                  {"--context",
                   &arguments->context,
                   "Tokens of a window [the model's]",
                   {.least = 1, .excludes = {"--source"}}},
                  {"--batch",
                   &arguments->batch,
                   "Windows, sentences, or parts of a recurrent model's text at once [16]",
                   {.least = 1, .most = static_cast<std::int64_t>(kMaxSize)}},  // as of train.batch
                  matmul_option(arguments->matmul),
                  weights_option(arguments->weights, kAsStored),
                  {"--no-pseudo", &arguments->no_pseudo,
                   "Masked language models: leave out the pseudo-perplexity, which takes a row for each token"},
                  {"--without-head",
                   [arguments](const std::string& names) { arguments->without_heads = split_fields(names, ','); },
                   "Remove these heads of attention: LAYER.HEAD, from 0, with commas between them; of an "
                   "encoder-decoder encoder.LAYER.HEAD, decoder.… or cross.…"},
                  {"--by-position", &arguments->by_position,
                   "Language models: also the loss by the number of tokens before a token in its window"},
                  {"--by-frequency", &arguments->by_frequency,
                   "Language models: also the loss by how often a token stands in the training text"},
                  {"--by-length",
                   &arguments->by_length,
                   "Encoder-decoders: also the BLEU of their translations, by the tokens of the source",
                   {.needs = {"--source"}}},
                  {"--json", &arguments->json, "Print one JSON object"}},
      .run = [arguments] { print_evaluation(*arguments); }};
}

}  // namespace tapeformer::cli
