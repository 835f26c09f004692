#include <algorithm>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "core/text/joined.h"
#include "nn/layers/lora.h"
#include "tasks/interchange/published_model.h"

namespace tapeformer::cli {
namespace {

struct ExportArguments {
  RunSelection run;
  std::string format, out, type;
  bool merge = false;
};

void export_run(const ExportArguments& arguments) {
  const PublishedFormat& format = *std::ranges::find(published_formats(), arguments.format, &PublishedFormat::name);
  const std::string& type = arguments.type.empty() ? format.types.front() : arguments.type;
  if (std::ranges::count(format.types, type) == 0) {
    fail_usage("export: --type: expected ", joined(format.types, ", "), " for ", format.name, ", got ", type);
  }
  check(!is_there(arguments.out), arguments.out, " exists already: expected a new place for the model");
  const auto run = open_run<TrainedTextModel>(arguments.run, {});
  const bool adapters = run.config.train.lora_rank > 0 && format.name != "peft";
  if (arguments.merge && format.name == "peft") {
    fail_usage("export: --merge: expected none beside --format peft, which writes the adapters alone");
  }
  if (arguments.merge && !adapters) {
    fail_usage("export: --merge: expected none, since ", run.run.root.string(), " has no adapters");
  }
  if (adapters && !arguments.merge) {
    fail_usage("export: ", run.run.root.string(),
               " has adapters: give --merge to add them to the weights, or --format peft for them alone");
  }
  if (adapters) merge_adapters(*run.model);
  for (const std::string& line : format.write(run, arguments.out, type)) warn(line);
  for (const std::string& line : notes_on_export(run.config)) warn(line);
  log_info("{}: {}", arguments.out, format.help);
}

}  // namespace

Command export_command() {
  const auto arguments = std::make_shared<ExportArguments>();
  std::vector<std::string> names, types;
  std::string formats;
  for (const PublishedFormat& format : published_formats()) {
    names.push_back(format.name);
    formats += str_cat(formats.empty() ? "" : "; ", format.name, ", ", format.help);
    for (const std::string& type : format.types) {
      if (std::ranges::count(types, type) == 0) types.push_back(type);
    }
  }
  return {.name = "export",
          .help = "Write a run's model for other programs",
          .options = {run_argument(arguments->run),
                      checkpoint_option(arguments->run),
                      {"--format", &arguments->format, formats, {.required = true, .words = names}},
                      {"--type", &arguments->type, "How numbers are written [f32]", {.words = types}},
                      {"--merge", &arguments->merge, "Add the changes of adapters (train.lora.rank) to the weights"},
                      {"--out", &arguments->out, "The new folder or file", {.required = true}}},
          .run = [arguments] { export_run(*arguments); }};
}

}  // namespace tapeformer::cli
