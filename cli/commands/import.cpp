#include <memory>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "core/text/shell_word.h"
#include "tasks/interchange/peft.h"

namespace tapeformer::cli {
namespace {

struct ImportArguments {
  std::string model, base, out;
};

void import_published(const ImportArguments& arguments) {
  require_no_run(arguments.out);
  if (!arguments.base.empty()) {
    const RunFolder run = import_adapters(arguments.model, arguments.base, arguments.out);
    log_info("{} is a run of {} with the adapters of {}; train --resume {} goes on with them", run.root.string(),
             arguments.base, arguments.model, shell_word(run.root.string()));
    return;
  }
  const PublishedModel model = read_published(arguments.model);
  for (const std::string& line : model.warnings) warn(line);
  const RunFolder run = import_model(model, arguments.out);
  const std::string name = run.root.string();
  log_info("{} is a run of {}, {} tokens; train --train.init_from {} goes on with its weights", name,
           model.tensors->origin(), model.tokenizer->vocab_size(), shell_word(name));
}

}  // namespace

Command import_command() {
  const auto arguments = std::make_shared<ImportArguments>();
  std::string formats;
  for (const PublishedFormat& format : published_formats()) formats += (formats.empty() ? "" : "; ") + format.help;
  return {.name = "import",
          .help = "Make a run of a model of another program",
          .options = {{"model", &arguments->model, "The model: " + formats, {.required = true}},
                      {"--base", &arguments->base, "The run of the model that adapters of PEFT change"},
                      {"--out", &arguments->out, "The new run's folder", {.required = true}}},
          .run = [arguments] { import_published(*arguments); }};
}

}  // namespace tapeformer::cli
