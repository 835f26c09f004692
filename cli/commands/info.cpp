#include "cli/info/info.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/config_options.h"
#include "cli/terminal/results.h"

namespace tapeformer::cli {
namespace {

struct InfoArguments {
  std::string target;
  ConfigOverrides overrides;
  double seconds = 4;
  bool json = false;
};

void print_info(const InfoArguments& arguments) {
  const Info info = gather_info(arguments.target, arguments.overrides, arguments.seconds);
  print_result(
      arguments.json, [&] { return info_json(info); }, [&] { return info_text(info); });
}

}  // namespace

Command info_command() {
  const auto arguments = std::make_shared<InfoArguments>();
  Command command{
      .name = "info",
      .help = "A dry run: parameters, memory and time of a training, from some steps of it",
      .options = {{"target", &arguments->target, "A configuration file or a run's folder", {.required = true}},
                  {"--json", &arguments->json, "Print one JSON object"},
                  {"--seconds",
                   &arguments->seconds,
                   "Time steps for so long, about; 0: run none, and compute what can be known without [4]",
                   {.non_negative = true}}},
      .run = [arguments] { print_info(*arguments); }};
  add_config_options(command, arguments->overrides);
  return command;
}

}  // namespace tapeformer::cli
