#include <spdlog/spdlog.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/config_options.h"
#include "cli/progress_line.h"
#include "cli/run_model.h"
#include "cli/stop_signal.h"
#include "core/files.h"
#include "core/parallel.h"
#include "data/synthetic/corpora.h"
#include "train/config/optim_config.h"
#include "train/config/run_config.h"
#include "train/objectives/objective.h"
#include "train/run/disk.h"
#include "train/run/metrics.h"
#include "train/trainer.h"

namespace tapeformer::cli {
namespace {

struct TrainArguments {
  std::string config, out, resume;
  ConfigOverrides overrides;
};

ResolvedConfig overridden(Config config, const ConfigOverrides& overrides) {
  ResolvedConfig resolved = override_config(std::move(config), overrides);
  require_data(resolved);
  return resolved;
}

void print_summary(const ResolvedConfig& config, const Objective& objective, const TrainingState& state,
                   const RunFolder& run) {
  if (state.best_step > 0 && objective.can_evaluate()) {
    const double per_byte = state.best_loss * static_cast<double>(objective.evaluation_tokens()) /
                            static_cast<double>(objective.evaluation_bytes());
    std::cout << "best validation loss " << state.best_loss << " nats per token, " << per_byte << " per byte, at step "
              << state.best_step << '\n';
  }
  const std::optional<double> entropy = config.data.corpus.empty() ? std::nullopt : corpus_entropy(config.data.corpus);
  if (entropy) {
    std::cout << "the corpus " << config.data.corpus << " has an entropy of " << *entropy
              << " nats per character: no model can do better\n";
  }
  std::cout << "run: " << run.root.string() << '\n';
}

// Trains a run that is set up, from `state` on.
void train_run(const ResolvedConfig& config, Objective& objective, const ParameterSlab& slab, Optimizer& optimizer,
               const RunFolder& run, TrainingState& state) {
  for (const std::string& line : objective.warnings()) spdlog::warn("{}", line);
  if (!objective.can_evaluate()) spdlog::warn("no validation text: nothing will be evaluated");
  for (const std::string& line : objective.description()) spdlog::info("{}", line);
  spdlog::info("{} threads", thread_count());

  const StopSignal stop;
  ProgressLine progress(std::cerr, [] { return terminal_columns(STDERR_FILENO); });
  ProgressState last{.step = state.step, .steps = config.train.steps};
  const auto evaluated = [&](std::int64_t step, const Evaluation& evaluation, std::optional<double> bleu) {
    progress.clear();
    spdlog::info("step {}: validation loss {:.4f}, perplexity {:.2f}{}", step, evaluation.loss(),
                 evaluation.perplexity(), bleu ? fmt::format(", greedy BLEU {:.2f}", *bleu) : "");
  };
  const TrainHooks hooks{.progress =
                             [&](const ProgressState& now) {
                               last = now;
                               progress.update(now);
                             },
                         .evaluated = evaluated,
                         .averaged =
                             [&](std::span<const std::int64_t> steps) {
                               progress.clear();
                               spdlog::info("averaged the checkpoints of the steps {}", fmt::join(steps, ", "));
                             },
                         .stop_requested = [&] { return stop.requested(); }};
  const TrainEnd end = train(objective, slab, optimizer, config, run, state, hooks);
  progress.finish(last);
  if (end == TrainEnd::early_stopped) {
    spdlog::info("ended at step {}: no lower validation loss in {} evaluations", state.step, config.eval.patience);
  }
  if (end == TrainEnd::finished || end == TrainEnd::early_stopped) {
    return print_summary(config, objective, state, run);
  }
  spdlog::info("{} at step {}; go on with: tapeformer train --resume {}",
               end == TrainEnd::stopped ? "stopped" : "out of time", state.step, run.root.string());
}

void set_threads(const ResolvedConfig& config) {
  if (config.train.threads > 0) set_thread_count(static_cast<int>(config.train.threads));
}

void start(const TrainArguments& arguments) {
  Config file;
  if (!arguments.config.empty()) file = load_config(arguments.config);
  const ResolvedConfig config = overridden(std::move(file), arguments.overrides);
  require_no_run(arguments.out);
  set_threads(config);
  const auto objective = make_objective(config, nullptr, show_progress);
  objective->model().initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  const ParameterSlab slab(objective->model());
  const auto optimizer = make_optimizer(config, slab);
  const RunFolder run = create_run(arguments.out, to_toml(config), objective->tokenizers());
  const RunLock lock(run);
  TrainingState state;
  state.data_hash = objective->data_hash();
  train_run(config, *objective, slab, *optimizer, run, state);
}

void resume(const TrainArguments& arguments) {
  const RunReference reference = find_run(arguments.resume);
  const RunFolder& run = reference.run;
  if (reference.average) fail_usage("train: an average cannot be trained on; resume ", run.root.string());
  const RunLock lock(run);
  remove_leftovers(run);
  const Config before = load_run_config(run.config());
  const ResolvedConfig config = overridden(before, arguments.overrides);
  const std::vector<std::string> changes = check_resume(stored_config(before), config);
  set_threads(config);
  const auto objective = make_objective(config, &run, show_progress);
  const ParameterSlab slab(objective->model());
  const auto optimizer = make_optimizer(config, slab);

  TrainingState state;
  if (list_checkpoints(run).empty() && !reference.step) {  // ended before its first checkpoint
    objective->model().initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  } else {
    std::vector<std::string> warnings;
    const std::int64_t step = usable_checkpoint(reference, warnings);
    for (const std::string& warning : warnings) spdlog::warn("{}", warning);
    state = load_checkpoint(run, step, objective->model(), *optimizer);
    if (state.data_hash != objective->data_hash()) {
      spdlog::warn("the training text is another than the run began with: what follows is not what it would have been");
    }
  }
  state.data_hash = objective->data_hash();
  if (const std::string text = to_toml(config); text != read_file(run.config()))
    write_file_atomically(run.config(), text);
  truncate_metrics(run.metrics(), state.step);
  remove_checkpoints_after(run, state.step);
  remove_average(run);
  if (state.best_step > 0 && std::filesystem::exists(run.checkpoint(state.best_step))) mark_best(run, state.best_step);
  prune_checkpoints(run, config.checkpoint.keep);
  spdlog::info("resumed at step {}", state.step);
  for (const std::string& change : changes) spdlog::info("{}", change);
  train_run(config, *objective, slab, *optimizer, run, state);
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model, or continue the training of a run");
  CLI::Option* config = command->add_option("config", arguments->config,
                                            "Configuration file (TOML); without one, every key has its default");
  CLI::Option* out = command->add_option("--out", arguments->out, "Folder of the new run");
  CLI::Option* from =
      command->add_option("--resume", arguments->resume, "Folder of a run whose training continues, bit for bit");
  from->excludes(out)->excludes(config);
  add_config_options(*command, arguments->overrides);
  command->callback([arguments] {
    if (!arguments->resume.empty()) return resume(*arguments);
    if (arguments->out.empty()) fail_usage("train: expected CONFIG.toml and --out RUN, or --resume RUN");
    start(*arguments);
  });
}

}  // namespace tapeformer::cli
