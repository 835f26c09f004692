#include "report/run_report.h"

#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/page_option.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "train/loop/run_summary.h"

namespace tapeformer::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
};

// Whether the report can show a run; warns if not.
bool is_readable(const RunFolder& run) {
  try {
    run_report_data({&run, 1});
    return true;
  } catch (const std::exception& error) {
    log_warning("{}: {}", run.root.string(), error.what());
    return false;
  }
}

// Returns the run at this path or, if it is no run, the runs below it that can be read, so that a damaged run does not
// hide the others.
std::vector<RunFolder> runs_of(const std::filesystem::path& path) {
  if (!is_folder(path) || is_there(RunFolder{path}.config())) return {find_run(path).run};
  std::vector<RunFolder> runs = runs_below(path);
  check(!runs.empty(), path.string(), " is not a run, and has none in it");
  std::erase_if(runs, [](const RunFolder& run) { return !is_readable(run); });
  check(!runs.empty(), path.string(), " has no run that can be read");
  return runs;
}

void write_report(const ReportArguments& arguments) {
  std::vector<RunFolder> runs;
  for (const std::string& path : arguments.runs) {
    const std::vector<RunFolder> named = runs_of(path);
    runs.insert(runs.end(), named.begin(), named.end());
  }
  write_run_report(runs, arguments.out);
  print_line("{}", output_text(arguments.out));
}

}  // namespace

Command report_command() {
  const auto arguments = std::make_shared<ReportArguments>();
  return {.name = "report",
          .help = "Write a page with the curves of runs, side by side",
          .options = {{"runs", &arguments->runs, "Runs, or folders with runs", {.required = true}},
                      page_option("--out", arguments->out, "The page (.html)", {.required = true})},
          .run = [arguments] { write_report(*arguments); }};
}

}  // namespace tapeformer::cli
