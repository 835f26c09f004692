#include "cli/info/info.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/config_options.h"
#include "cli/terminal/results.h"

namespace tapeformer::cli {
namespace {

struct InfoArguments {
  InfoRequest request;
  bool json = false;
};

void print_info(const InfoArguments& arguments) {
  const Info info = gather_info(arguments.request);
  print_result(
      arguments.json, [&] { return info_json(info); }, [&] { return info_text(info); });
}

}  // namespace

Command info_command() {
  const auto arguments = std::make_shared<InfoArguments>();
  Command command{
      .name = "info",
      .help = "A dry run: parameters, memory and time of a training, from some steps of it",
      .options = {{"target",
                   &arguments->request.target,
                   "A configuration file or a run's folder; with --minutes it may be left out",
                   {.non_empty = true}},
                  {"--minutes",
                   &arguments->request.minutes,
                   "Plan a new training of so many minutes, as train does, and show the keys that are chosen",
                   {.values = ListValues::last}},
                  {"--json", &arguments->json, "Print one JSON object"},
                  {"--seconds",
                   &arguments->request.seconds,
                   "Time steps for so long, about; 0: run none, and compute what can be known without [4]",
                   {.non_negative = true}}},
      .run = [arguments] { print_info(*arguments); }};
  add_config_options(command, arguments->request.overrides);
  return command;
}

}  // namespace tapeformer::cli
