#include <memory>

#include "autograd/gradcheck/check_ops.h"
#include "cli/commands/commands.h"
#include "cli/terminal/results.h"

namespace tapeformer::cli {
namespace {

struct GradcheckArguments {
  std::vector<std::string> names;
  bool list = false;
};

void list_ops() {
  for (const std::string& name : gradient_check_ops()) print_line("{}", name);
}

void check_gradients_of(const std::vector<std::string>& names) {
  int failed = 0;
  const std::vector<OpCheck> results = run_gradient_checks(names);
  for (const OpCheck& result : results) {
    print_line("{:<30} {:>5} checks  worst error {:.1e}, allowed {:.1e}  {}", result.op, result.checks, result.error,
               result.tolerance, result.ok ? "ok" : "FAILED");
    if (!result.ok) print_line("  {}", result.message);
    failed += !result.ok;
  }
  check(failed == 0, "gradcheck: ", failed, " of ", results.size(), " ops failed");
}

}  // namespace

Command gradcheck_command() {
  const auto arguments = std::make_shared<GradcheckArguments>();
  return {
      .name = "gradcheck",
      .help = "Check every op's gradient against finite differences, in f64",
      .options = {{"op", &arguments->names, "Only these ops [all]"},
                  {"--list", &arguments->list, "Print the names of all ops, and check nothing", {.excludes = {"op"}}}},
      .run = [arguments] { arguments->list ? list_ops() : check_gradients_of(arguments->names); }};
}

}  // namespace tapeformer::cli
