#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/options/usage.h"
#include "cli/terminal/progress_line.h"
#include "tasks/common/eval.h"

namespace tapeformer::cli {
namespace {

struct EvalArguments : EvalRequest {
  bool json = false;
};

// The task that reads this input: the task of the run if it does, else that of its family, or else the first task that
// does (its error says what the run's model is).
const TaskRow& task_for(const ModelSource& run, std::string_view input) {
  const TaskRow& task = task_of_run(run);
  if (task.eval_input == input) return task;
  const TaskRow& of_family = find_task_row(family_of_run(run).task);
  if (of_family.eval_input == input) return of_family;
  return *std::ranges::find(task_rows(), input, &TaskRow::eval_input);
}

void print_evaluation(EvalArguments& arguments) {
  const std::string_view input = !arguments.labels.empty() ? "labels" : !arguments.source.empty() ? "source" : "text";
  if (input == "text" && arguments.text.empty())
    fail_usage("eval: expected --text FILE, --source FILE and --target FILE, or --labels FILE");
  arguments.progress = show_progress;
  arguments.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  arguments.tell = tell;
  const EvalReport report = task_for(arguments.run, input).evaluate(arguments);
  if (arguments.json) {
    std::cout << report.json << '\n';
  } else {
    std::cout << report.table;
  }
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Loss, perplexity and bits per byte of a text, or of translations");
  add_run_argument(*command, arguments->run);
  CLI::Option* labels = command->add_option("--labels", arguments->labels,
                                            "Labelled text, for a model that is fine-tuned on labels: a file as "
                                            "data.labels has it");
  CLI::Option* text = command->add_option("--text", arguments->text, "Text file, for a language model");
  CLI::Option* source =
      command->add_option("--source", arguments->source, "File to translate, for an encoder-decoder")->excludes(text);
  CLI::Option* target = command->add_option("--target", arguments->target, "Its translation, line by line");
  source->needs(target);
  target->needs(source);
  command
      ->add_option("--stride", arguments->stride,
                   "Tokens between the beginnings of windows; smaller is slower and sees more context [the context]")
      ->check(at_least(1))
      ->excludes(source);
  command->add_option("--context", arguments->context, "Tokens of a window [the model's]")
      ->check(at_least(1))
      ->excludes(source);
  labels->excludes(text)->excludes(source);
  command
      ->add_option("--batch", arguments->batch, "Windows, sentences, or parts of a recurrent model's text at once [16]")
      ->check(at_least(1));
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--no-pseudo", arguments->no_pseudo,
                    "Masked language models: leave out the pseudo-perplexity, which takes a row for each token");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] { print_evaluation(*arguments); });
}

}  // namespace tapeformer::cli
