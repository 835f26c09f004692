#include "report/run_report.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"

namespace tapeformer::cli {

void add_report_command(CLI::App& app) {
  struct Arguments {
    std::vector<std::string> runs;
    std::string out;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("report", "Write a page with the curves of runs, side by side");
  command->add_option("runs", arguments->runs, "Run folders")->required();
  command->add_option("--out", arguments->out, "The page (.html)")->required();
  command->callback([arguments] {
    std::vector<RunFolder> runs;
    for (const std::string& run : arguments->runs) runs.push_back(find_run(run).run);
    write_run_report(runs, arguments->out);
    std::cout << arguments->out << '\n';
  });
}

}  // namespace tapeformer::cli
