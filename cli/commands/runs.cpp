#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/text/numbers.h"
#include "train/loop/run_summary.h"

namespace tapeformer::cli {
namespace {

struct RunsArguments {
  std::string folder, sort = "loss";
  bool json = false;
};

// Returns the key by which a run is sorted. Runs without the number come last. Losses are sorted within their units, as
// different units cannot be compared.
std::pair<std::string, double> key_of(const RunSummary& run, const std::string& sort) {
  constexpr double kLast = std::numeric_limits<double>::infinity();
  if (sort == "loss") return {run.best_loss ? run.unit : "\xFF", run.best_loss.value_or(kLast)};
  if (sort == "bits") return {"", run.bits_per_byte.value_or(kLast)};
  if (sort == "parameters") return {"", run.parameters ? static_cast<double>(*run.parameters) : kLast};
  return {"", run.elapsed_s};
}

Json json_of(const RunSummary& run, const std::string& name) {
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json measures = Json::object();
  for (const auto& [measure, value] : run.metrics) measures[measure] = value;
  return {{"run", name},
          {"type", run.type},
          {"parameters", number(run.parameters)},
          {"data", run.data},
          {"step", run.step},
          {"steps", run.steps},
          {"best_loss", number(run.best_loss)},
          {"unit", run.unit},
          {"bits_per_byte", number(run.bits_per_byte)},
          {"measures", std::move(measures)},
          {"bleu_step", number(run.bleu_step)},
          {"elapsed_s", run.elapsed_s},
          {"state", run.state}};
}

std::string decimals(const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; }

// The metric of a run as text: "span_f1 0.9150", "bleu 39.34", or "bleu 39.34 at 1000" if it is that of another step
// than the loss.
std::string measure_of(const RunSummary& run) {
  const auto value = run.measured(run.measure);
  if (!value) return "-";
  if (run.measure != "bleu") return fmt::format("{} {:.4f}", run.measure, *value);
  return fmt::format("bleu {:.2f}{}", *value, run.bleu_step ? fmt::format(" at {}", *run.bleu_step) : "");
}

// The path of a run below the folder; that of the folder itself, if it is the run.
std::string name_of(const RunSummary& run, const std::string& folder) {
  const std::filesystem::path name = run.run.root.lexically_relative(folder);
  return name == "." ? folder : name.string();
}

std::string table_of(const std::vector<RunSummary>& runs, const std::string& folder) {
  std::vector<std::vector<std::string>> rows{
      {"run", "type", "parameters", "data", "step", "best loss", "unit", "measure", "bits per byte", "time", "state"}};
  for (const RunSummary& run : runs) {
    rows.push_back({name_of(run, folder), run.type, run.parameters ? std::to_string(*run.parameters) : "-", run.data,
                    std::to_string(run.step) + "/" + std::to_string(run.steps), decimals(run.best_loss),
                    run.best_loss ? run.unit : "-", measure_of(run), decimals(run.bits_per_byte),
                    format_duration(run.elapsed_s), run.state});
  }
  return output_text(Table::fitted(std::move(rows)).text());
}

void print_runs(const RunsArguments& arguments) {
  std::vector<RunSummary> runs;
  for (const RunFolder& run : runs_below(arguments.folder)) {
    try {
      runs.push_back(summarize_run(run));
    } catch (const std::exception& error) {  // a damaged run must not hide the others
      log_warning("{}: {}", run.root.string(), error.what());
    }
  }
  if (arguments.sort != "name")
    std::ranges::stable_sort(runs, {}, [&](const RunSummary& run) { return key_of(run, arguments.sort); });
  const auto json = [&] {
    Json all = Json::array();
    for (const RunSummary& run : runs) all.push_back(json_of(run, name_of(run, arguments.folder)));
    return all;
  };
  print_result(arguments.json, json, [&] { return table_of(runs, arguments.folder); });
}

}  // namespace

Command runs_command() {
  const auto arguments = std::make_shared<RunsArguments>();
  return {.name = "runs",
          .help = "A table of the runs in a folder",
          .options = {{"folder", &arguments->folder, "A folder with runs, at any depth, or a run", {.required = true}},
                      {"--sort",
                       &arguments->sort,
                       "loss (the best validation loss, by its unit), bits, parameters, time or name [loss]",
                       {.words = {"loss", "bits", "parameters", "time", "name"}}},
                      {"--json", &arguments->json, "Print one JSON list"}},
          .run = [arguments] { print_runs(*arguments); }};
}

}  // namespace tapeformer::cli
