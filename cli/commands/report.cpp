#include "report/run_report.h"

#include <iostream>
#include <memory>

#include "cli/commands/commands.h"
#include "core/error.h"
#include "train/loop/run_summary.h"

namespace tapeformer::cli {
namespace {

// The run at this path or, if it is no run, the runs in that folder.
std::vector<RunFolder> runs_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path) || std::filesystem::exists(RunFolder{path}.config()))
    return {find_run(path).run};
  std::vector<RunFolder> runs = runs_below(path);
  check(!runs.empty(), path.string(), " is not a run, and has none in it");
  return runs;
}

}  // namespace

void add_report_command(CLI::App& app) {
  struct Arguments {
    std::vector<std::string> runs;
    std::string out;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("report", "Write a page with the curves of runs, side by side");
  command->add_option("runs", arguments->runs, "Runs, or folders with runs")->required();
  command->add_option("--out", arguments->out, "The page (.html)")->required();
  command->callback([arguments] {
    std::vector<RunFolder> runs;
    for (const std::string& path : arguments->runs) {
      const std::vector<RunFolder> named = runs_of(path);
      runs.insert(runs.end(), named.begin(), named.end());
    }
    write_run_report(runs, arguments->out);
    std::cout << arguments->out << '\n';
  });
}

}  // namespace tapeformer::cli
