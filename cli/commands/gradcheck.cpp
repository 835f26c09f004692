#include <cstdio>
#include <iostream>
#include <memory>

#include "autograd/gradcheck/check_ops.h"
#include "cli/commands/commands.h"

namespace tapeformer::cli {
namespace {

void check_gradients_of(const std::vector<std::string>& names) {
  int failed = 0;
  const std::vector<OpCheck> results = run_gradient_checks(names);
  for (const OpCheck& result : results) {
    char line[120];
    std::snprintf(line, sizeof(line), "%-30s %5d checks  worst error %.1e, allowed %.1e  %s", result.op.c_str(),
                  result.checks, result.error, result.tolerance, result.ok ? "ok" : "FAILED");
    std::cout << line << '\n';
    if (!result.ok) std::cout << "  " << result.message << '\n';
    failed += !result.ok;
  }
  check(failed == 0, "gradcheck: ", failed, " of ", results.size(), " ops failed");
}

}  // namespace

void add_gradcheck_command(CLI::App& app) {
  struct Arguments {
    std::vector<std::string> names;
    bool list = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("gradcheck", "Check every op's gradient against finite differences, in f64");
  CLI::Option* names = command->add_option("op", arguments->names, "Only these ops [all]");
  command->add_flag("--list", arguments->list, "Print the names of all ops, and check nothing")->excludes(names);
  command->callback([arguments] {
    if (!arguments->list) return check_gradients_of(arguments->names);
    for (const std::string& name : gradient_check_ops()) std::cout << name << '\n';
  });
}

}  // namespace tapeformer::cli
