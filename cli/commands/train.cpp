#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/options/config_options.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "cli/training/new_or_continued_run.h"
#include "cli/training/training.h"
#include "train/distributed/launch.h"

namespace tapeformer::cli {
namespace {

// Called from another thread just before the process ends.
void print_lost_rank(const char* message) {
  std::fputs(str_cat("\ntapeformer: ", rank_prefix(), message, "\n").c_str(), stderr);
}

void train_as_rank(const TrainArguments& arguments) {
  if (arguments.resume.empty() && arguments.out.empty()) {
    fail_usage("train: expected --out RUN for a new run, or --resume RUN");
  }
  const auto ranks = join_ranks(print_lost_rank);
  if (!ranks->is_root()) be_silent();
  try {
    arguments.resume.empty() ? start_run(arguments, *ranks) : continue_run(arguments, *ranks);
  } catch (const StoppedBeforeTraining&) {
    log_info("stopped before the training began: {}",
             arguments.out.empty() ? "the run is as it was" : "no run was made");
  }
  ranks->finish_job();
}

}  // namespace

Command train_command() {
  const auto arguments = std::make_shared<TrainArguments>();
  Command command{
      .name = "train",
      .help = "Train a model, or continue the training of a run",
      .options =
          {{"config",
            &arguments->config,
            "Configuration file (TOML); without one, every key has its default",
            {.non_empty = true}},
           {"--out", &arguments->out, "Folder of the new run", {.non_empty = true}},
           {"--resume",
            &arguments->resume,
            "Folder of a run whose training continues, bit for bit",
            {.non_empty = true, .excludes = {"config"}}},
           {"--minutes",
            &arguments->minutes,
            "Minutes of the whole run: keys that are not given are chosen for them; with --resume: train.minutes",
            {.values = ListValues::last}},
           {"--discard-newer",
            &arguments->discard_newer,
            "With --resume of an earlier checkpoint: remove the later ones (or go on in a new run, with --out)",
            {.needs = {"--resume"}}},
           {"--accept-changes",
            &arguments->accept_changes,
            "With --resume of a run whose config.toml was changed by hand: go on with the changes",
            {.needs = {"--resume"}}}},
      .run = [arguments] { train_as_rank(*arguments); }};
  add_config_options(command, arguments->overrides);
  return command;
}

}  // namespace tapeformer::cli
