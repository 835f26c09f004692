#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/config_options.h"
#include "cli/study/study_result.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "report/study_page.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;

struct StudyArguments {
  std::string study, out;
  ConfigOverrides overrides;
  bool list = false, json = false;
};

void list_studies(bool json) {
  const fs::path folder = studies_folder();
  std::vector<std::vector<std::string>> rows;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    const Study study = load_study(entry.path());
    rows.push_back({study.name, study.title});
  }
  std::ranges::sort(rows);
  const auto json_list = [&] {
    Json all = Json::array();
    for (const std::vector<std::string>& row : rows) all.push_back({{"study", row[0]}, {"title", row[1]}});
    return all;
  };
  print_result(json, json_list, [&] { return Table::fitted(rows).text(); });
}

void study(const StudyArguments& arguments) {
  if (arguments.list) return list_studies(arguments.json);
  if (arguments.study.empty()) fail_usage("study: expected the name or the file of a study, or --list");
  const Study study = load_study(study_path(arguments.study));
  const fs::path folder = arguments.out.empty() ? fs::path("studies") / study.name : fs::path(arguments.out);
  const TrainOptions extra = train_options(arguments.overrides);
  const auto runs = run_study(study, folder, extra);
  if (!runs) {
    log_info("stopped; go on by the same command");
    return;
  }
  const Json result = study_json(study, *runs, extra);
  write_file_atomically(folder / "study.json", json_text(result) + "\n");
  write_file_atomically(folder / "study.html", study_page(with_curves(result, *runs)));
  log_info("the page: {}", (folder / "study.html").string());
  print_result(
      arguments.json, [&] { return result; }, [&] { return output_text(study_text(result)); });
}

}  // namespace

Command study_command() {
  const auto arguments = std::make_shared<StudyArguments>();
  Command command{
      .name = "study",
      .help = "Train variants of a model to see whether a claim about them is true",
      .options = {{"study", &arguments->study, "A study of configs/studies, or the file of one (TOML)"},
                  {"--out", &arguments->out, "The folder of its runs and its page (studies/NAME)"},
                  {"--list", &arguments->list, "Show the studies of configs/studies", {.excludes = {"study", "--out"}}},
                  {"--json", &arguments->json, "Print the result as JSON"}},
      .run = [arguments] { study(*arguments); }};
  add_config_options(command, arguments->overrides);
  return command;
}

}  // namespace tapeformer::cli
