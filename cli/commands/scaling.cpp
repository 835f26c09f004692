#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/config_options.h"
#include "cli/options/page_option.h"
#include "cli/scaling/laws.h"
#include "cli/scaling/sweep.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text/parse_number.h"
#include "report/scaling_page.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEntropyHelp =
    "The irreducible loss: free (it is fitted), corpus (that of the generated corpus), or nats per token [free]";

struct FitArguments {
  std::vector<std::string> runs;
  std::string entropy = "free", out;
  LawsRequest request;
  bool json = false;
};

struct SweepArguments {
  SweepRequest request;
  std::string out;
  std::vector<std::string> seeds;
  bool json = false;
};

// An option that takes a number above 0, such as 1e9.
Option amount_option(std::string name, std::optional<double>& to, std::string help) {
  const auto set = [name, &to](const std::string& text) {
    to = parse_finite_number(text);
    if (!to || *to <= 0) fail_usage(name, ": expected a number above 0, got ", text);
  };
  return {std::move(name), set, std::move(help)};
}

void fit(FitArguments& arguments) {
  const ScalingRuns runs = read_scaling_runs(arguments.runs);
  arguments.request.irreducible = irreducible_loss(arguments.entropy, runs);
  const Json result = laws_json(runs, arguments.request);
  if (!arguments.out.empty()) {
    write_file_atomically(arguments.out, scaling_page(result));
    log_info("the page: {}", arguments.out);
  }
  print_result(
      arguments.json, [&] { return result; }, [&] { return output_text(laws_text(result)); });
}

void sweep(SweepArguments& arguments) {
  SweepRequest& request = arguments.request;
  request.out = arguments.out.empty() ? fs::path("sweeps") / fs::path(request.config).stem() : fs::path(arguments.out);
  if (!arguments.seeds.empty()) request.seeds.clear();
  for (const std::string& seed : arguments.seeds) {
    const auto value = parse_number<std::int64_t>(seed);
    if (!value || *value < 0 || std::ranges::count(request.seeds, *value) > 0)
      fail_usage("--seeds: expected different whole numbers, got ", seed);
    request.seeds.push_back(*value);
  }
  const auto result = run_sweep(request);
  if (!result) {
    log_info("stopped; go on by the same command");
    return;
  }
  write_file_atomically(request.out / "scaling.json", json_text(*result) + "\n");
  write_file_atomically(request.out / "scaling.html", scaling_page(*result));
  log_info("the page: {}", (request.out / "scaling.html").string());
  print_result(
      arguments.json, [&] { return *result; }, [&] { return output_text(sweep_text(*result)); });
}

Command fit_command() {
  constexpr const char* kHelp =
      "Fit L(N), L(D) and L(C) to trainings, and predict the loss of another one. L is the best validation loss of a "
      "run, D the tokens that it had read by then";
  const auto arguments = std::make_shared<FitArguments>();
  LawsRequest& request = arguments->request;
  return {.name = "fit",
          .help = kHelp,
          .options = {{"runs",
                       &arguments->runs,
                       "Runs, folders with runs, or files (.jsonl, .csv) of N, D, C and loss",
                       {.required = true}},
                      {"--entropy", &arguments->entropy, kEntropyHelp},
                      amount_option("--parameters", request.parameters, "Predict the loss of so many parameters, N"),
                      amount_option("--tokens", request.tokens, "Predict the loss after so many tokens, D"),
                      page_option("--out", arguments->out, "Write a page with the laws (.html)"),
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { fit(*arguments); }};
}

Command sweep_command() {
  const auto arguments = std::make_shared<SweepArguments>();
  SweepRequest& request = arguments->request;
  Command command{
      .name = "sweep",
      .help = "Train several sizes of a model, and predict the largest one's loss before it is trained",
      .options = {{"config", &request.config, "The configuration of the largest model", {.required = true}},
                  {"--sizes", &request.sizes,
                   "Each WIDTH or LAYERSxWIDTH; the configuration's and six below it if not given"},
                  amount_option("--tokens", request.tokens, "The tokens that each training reads"),
                  amount_option("--minutes", request.minutes, "The minutes of all trainings together, about"),
                  {"--seeds", &arguments->seeds, "Train each size from each of these seeds [1]"},
                  {"--entropy", &request.entropy, kEntropyHelp},
                  {"--out", &arguments->out, "The folder of its runs and its page (sweeps/NAME)"},
                  {"--json", &arguments->json, "Print the result as JSON"}},
      .run = [arguments] { sweep(*arguments); }};
  add_config_options(command, request.overrides);
  return command;
}

}  // namespace

Command scaling_command() {
  return {.name = "scaling",
          .help = "Scaling laws: fit them, and train a sweep of sizes",
          .commands = {fit_command(), sweep_command()}};
}

}  // namespace tapeformer::cli
