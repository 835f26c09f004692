#include <cstdio>
#include <iostream>
#include <memory>

#include "autograd/gradcheck/check_ops.h"
#include "cli/commands.h"

namespace tapeformer::cli {
namespace {

void check_gradients_of(const std::vector<std::string>& names) {
  int failed = 0;
  const std::vector<OpCheck> results = run_gradient_checks(names);
  for (const OpCheck& result : results) {
    char line[120];
    std::snprintf(line, sizeof(line), "%-30s %5d checks  worst %.1e  %s", result.op.c_str(), result.checks,
                  result.worst, result.ok ? "ok" : "FAILED");
    std::cout << line << '\n';
    if (!result.ok) std::cout << "  " << result.message << '\n';
    failed += !result.ok;
  }
  check(failed == 0, "gradcheck: ", failed, " of ", results.size(), " ops failed");
}

}  // namespace

void add_gradcheck_command(CLI::App& app) {
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("gradcheck", "Check every op's gradient against finite differences, in f64");
  command->add_option("op", *names, "Only these ops [all]");
  command->callback([names] { check_gradients_of(*names); });
}

}  // namespace tapeformer::cli
