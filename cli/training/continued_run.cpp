#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cli/options/config_options.h"
#include "cli/terminal/messages.h"
#include "cli/training/comparison.h"
#include "cli/training/new_or_continued_run.h"
#include "cli/training/planning.h"
#include "cli/training/run_setup.h"
#include "cli/training/training.h"
#include "core/files.h"
#include "core/text/joined.h"
#include "train/config/run_config.h"
#include "train/loop/evaluation_terms.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/disk.h"
#include "train/run/metrics.h"
#include "train/run/optimizer_shards.h"
#include "train/time/time_budget.h"

namespace tapeformer::cli {
namespace {

// How a run continues: its configuration, changed by the options.
struct Continuation {
  ResolvedConfig config;
  std::vector<std::string> changes;   // changes of the configuration, to be shown
  std::optional<double> max_minutes;  // the time limit of this process, if the options give one
};

// Returns whether the run's configuration was edited by hand. Throws UsageError unless the user confirms, by
// --accept-changes, that this is intended.
bool is_changed_by_hand(const RunFolder& run, const std::optional<std::filesystem::path>& copy,
                        const TrainArguments& arguments) {
  const std::string advice = copy ? str_cat("; ", copy->string(), " is what it was") : "";
  std::vector<std::string> changes;
  try {
    changes = changes_by_hand(run.config(), copy);
  } catch (const UsageError& error) {
    fail_usage(error.what(), advice);
  }
  if (!changes.empty() && !arguments.accept_changes) {
    fail_usage(run.config().string(), " was changed by hand, or damaged: ", joined(changes, ", "),
               ": give --accept-changes to go on so", advice);
  }
  return !changes.empty();
}

// `step`: the checkpoint that the run continues from, if there is one.
Continuation continued_config(const RunReference& reference, std::optional<std::int64_t> step,
                              const TrainArguments& arguments) {
  const RunFolder& run = reference.run;
  std::optional<std::filesystem::path> copy;
  if (step) copy = checkpoint_config(run, run.checkpoint(*step));
  // If the user names a checkpoint, the run continues with the configuration that the checkpoint has.
  const bool names_checkpoint = reference.step.has_value();
  const bool changed = !names_checkpoint && is_changed_by_hand(run, copy, arguments);
  const std::filesystem::path& path = names_checkpoint ? *copy : run.config();
  for (const std::string& line : ignored_keys(path)) log_warning("{}", line);
  const Config before = load_run_config(changed && copy ? *copy : path);
  std::vector<std::string> changes;
  const ConfigOverrides overrides = with_minutes(arguments.overrides, arguments.minutes, before);
  Config after = override_config(load_run_config(path), overrides, changes).values();
  std::optional<double> max_minutes;
  if (const auto given = arguments.overrides.find("train.max_minutes");
      given != arguments.overrides.end() && !given->second.empty()) {
    max_minutes = std::exchange(after.train.max_minutes, before.train.max_minutes);
  }
  const ResolvedConfig config = resolve_for_training(std::move(after));
  std::ranges::move(check_resume(stored_config(before), config), std::back_inserter(changes));
  return {config, std::move(changes), max_minutes};
}

// The step of the checkpoint that the reference names, or of the newest one, after verification; logs any problem.
std::int64_t find_step(const RunReference& reference, Communicator& ranks) {
  std::vector<std::string> warnings;
  const std::int64_t step = ranks.sum_of(ranks.is_root() ? usable_checkpoint(reference, warnings) : 0);
  for (const std::string& warning : warnings) log_warning("{}", warning);
  require_run_files(reference.run, reference.run.checkpoint(step));
  return step;
}

TrainingState load_state(const RunFolder& run, std::int64_t step, Objective& objective, Optimizer& optimizer,
                         const ResolvedConfig& config) {
  TrainingState state = load_checkpoint(run, step, objective.model(), optimizer, objective.ranks());
  if (state.run_files.empty()) state.run_files = hash_run_files(run);  // an older version saved it
  // train() does this too; here a state that does not fit is refused before the run is changed.
  objective.load_recurrent_state(state.recurrent_state);
  state.recurrent_state = objective.recurrent_state();  // in the order in which the training has saved it
  if (state.data_hash != 0 && state.data_hash != objective.facts().data_hash) {
    log_warning("{}: what follows is not what it would have been", kOtherTrainingData);
  }
  if (const auto warning = update_evaluation_terms(state, objective, config)) {
    // The run would lose its best evaluation, and get no other.
    if (state.evaluated && state.step >= last_step(config, state)) {
      fail_usage("train: ", run.root.string(), " has nothing left to train, and ", *warning,
                 ": give it more steps, or score it by eval");
    }
    log_warning("{}", *warning);
  }
  state.data_hash = objective.facts().data_hash;
  return state;
}

// Throws if the run has later checkpoints than the named one, unless --discard-newer is given.
void require_newest(const RunReference& reference, const TrainArguments& arguments) {
  if (!reference.step || arguments.discard_newer) return;
  const std::vector<std::int64_t> steps = list_checkpoints(reference.run);
  if (steps.empty() || steps.back() <= *reference.step) return;
  fail_usage("train: ", arguments.resume, " is of step ", *reference.step, ", and the run has checkpoints up to step ",
             steps.back(), ": give --discard-newer to remove those, or --out NEW to go on in a new run");
}

// Throws if train.steps is less than the number of steps that the run has done.
void require_steps_left(const ResolvedConfig& config, const TrainingState& state) {
  if (config.train.steps >= state.step) return;
  fail_usage("train.steps: expected at least ", state.step, ", the step that the run has come to, got ",
             config.train.steps);
}

void mark_best_of(const RunFolder& run, const TrainingState& state) {
  if (state.best_step > 0 && is_there(run.checkpoint(state.best_step))) mark_best(run, state.best_step);
}

void cut_metrics(const RunFolder& run, const ResolvedConfig& config, const TrainingState& state) {
  const std::string note =
      truncate_metrics(run.metrics(), state.step, state.step < last_step(config, state), state.metrics);
  if (!note.empty()) log_warning("{}", note);
}

// Brings the run's folder back to what it was at the step of `state`. `named`: whether the user named the checkpoint.
void reset_run(const RunFolder& run, const ResolvedConfig& config, const TrainingState& state, bool named) {
  if (const std::string text = to_toml(config); text != read_file(run.config()))
    write_file_atomically(run.config(), text);
  cut_metrics(run, config, state);
  if (!named) {  // the newest undamaged checkpoint was chosen: later ones are damaged
    for (const std::string& note : set_aside_checkpoints_after(run, state.step)) log_warning("{}", note);
  }
  remove_checkpoints_after(run, state.step);
  remove_average(run);
  remove_old_comparison(state, run);
  if (state.best_step == 0) remove_path(run.best());  // the evaluation cannot be compared with later ones
  mark_best_of(run, state);
  prune_checkpoints(run, config.checkpoint.keep, config.checkpoint.average);
}

// A run that is ready to go on from a checkpoint, or before its first step.
struct ContinuedRun {
  Continuation continuation;
  Training training;
};

ContinuedRun prepare(const RunReference& reference, std::optional<std::int64_t> step, const TrainArguments& arguments,
                     Communicator& ranks) {
  const RunFolder& run = reference.run;
  // An imported model has no state of an optimizer, and no data, whose keys would be asked for.
  if (step) static_cast<void>(OptimizerShards(run.checkpoint(*step)));
  Continuation continuation = continued_config(reference, step, arguments);
  const ResolvedConfig& config = continuation.config;
  prepare_ranks(config, ranks);
  Training training = make_training(config, prepare_objective(config, &run, ranks), ranks);
  Objective& objective = *training.prepared.objective;
  if (step) {
    training.state = load_state(run, *step, objective, *training.optimizer, config);
  } else {
    check(config.train.init_from.empty(), run.root.string(),
          ": no checkpoint is left, and the run began with the weights of ", config.train.init_from,
          ": begin a new run");
    objective.model().initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
    training.state.run_files = hash_run_files(run);
  }
  require_steps_left(config, training.state);
  return {std::move(continuation), std::move(training)};
}

void log_resumed(const ContinuedRun& continued) {
  const Continuation& continuation = continued.continuation;
  log_info("resumed at step {}", continued.training.state.step);
  for (const std::string& change : continuation.changes) log_info("{}", change);
  if (continuation.max_minutes) log_info("train.max_minutes is {} for this process", *continuation.max_minutes);
}

void resume(const TrainArguments& arguments, const RunReference& reference, Communicator& ranks) {
  const RunFolder& run = reference.run;
  const auto lock = lock_run(run, ranks);
  if (ranks.is_root()) {
    require_newest(reference, arguments);
    remove_leftovers(run);
  }
  ranks.barrier();
  std::optional<std::int64_t> step;  // nullopt for a run that ended before its first checkpoint
  if (reference.step || !list_checkpoints(run).empty()) step = find_step(reference, ranks);
  ContinuedRun continued = prepare(reference, step, arguments, ranks);
  if (!step && is_there(run.metrics()) && !read_file(run.metrics()).empty()) {
    log_warning("{} has no checkpoint, though metrics.jsonl has lines: the training begins anew, and removes them",
                run.root.string());
  }
  const ResolvedConfig& config = continued.continuation.config;
  if (ranks.is_root()) reset_run(run, config, continued.training.state, reference.step.has_value());
  log_resumed(continued);
  train_run(config, continued.training, run, {.max_minutes = continued.continuation.max_minutes});
}

// Copies the earlier checkpoints that the new run will need at its end: for the average, and the best ones.
void copy_earlier_checkpoints(const RunFolder& from, const RunFolder& to, const TrainingState& state,
                              std::int64_t average) {
  std::vector<std::int64_t> regular = list_regular_checkpoints(from);
  std::erase_if(regular, [&](std::int64_t step) { return step >= state.step; });
  std::set<std::int64_t> wanted(regular.end() - std::min(average, std::ssize(regular)), regular.end());
  for (const std::int64_t best : {state.best_step, kept_best(state)}) {
    if (best > 0 && best < state.step && is_there(from.checkpoint(best))) wanted.insert(best);
  }
  for (const std::int64_t step : wanted) {
    try {
      copy_checkpoint(from, step, to);
    } catch (const Error& error) {  // the checkpoint is damaged: the new run continues without it
      log_warning("{}", error.what());
    }
  }
}

// Continues from a checkpoint in a new run; the other run is only read.
void fork_run(const TrainArguments& arguments, const RunReference& reference, Communicator& ranks) {
  if (ranks.is_root()) require_no_run(arguments.out);
  const RunFolder& from = reference.run;
  ContinuedRun continued = prepare(reference, find_step(reference, ranks), arguments, ranks);
  const ResolvedConfig& config = continued.continuation.config;
  const TrainingState& state = continued.training.state;

  const std::string config_toml = to_toml(config);
  const auto text_of = [](const std::filesystem::path& path) {
    return is_there(path) ? read_file(path) : std::string();
  };
  const RunTokenizers tokenizers{.source = read_file(from.tokenizer()),
                                 .target = text_of(from.target_tokenizer()),
                                 .labels = text_of(from.labels()),
                                 .chat = text_of(from.tokenizer_config())};
  const auto copy_history = [&](const RunFolder& run) {
    if (ranks.is_root()) {
      if (is_there(from.metrics())) write_file_atomically(run.metrics(), read_file(from.metrics()));
      if (is_there(from.base())) save_base(run, continued.training.prepared.objective->model());
      if (is_there(from.machine())) write_file_atomically(run.machine(), read_file(from.machine()));
      cut_metrics(run, config, state);
      copy_earlier_checkpoints(from, run, state, config.checkpoint.average);
    }
    const bool regular = config.checkpoint.every > 0 && state.step > 0 && state.step % config.checkpoint.every == 0;
    save_checkpoint(continued.training, run, {.config_toml = config_toml, .regular = regular});
    if (ranks.is_root()) mark_best_of(run, state);
  };
  const RunFolder run = make_run(arguments.out, config_toml, tokenizers, copy_history, ranks);
  const auto lock = lock_run(run, ranks);
  log_resumed(continued);
  train_run(config, continued.training, run, {.max_minutes = continued.continuation.max_minutes});
}

}  // namespace

void continue_run(const TrainArguments& arguments, Communicator& ranks) {
  const RunReference reference = find_run(arguments.resume);
  if (reference.average) {
    fail_usage("train: an average cannot be trained on; resume ", reference.run.root.string());
  }
  arguments.out.empty() ? resume(arguments, reference, ranks) : fork_run(arguments, reference, ranks);
}

}  // namespace tapeformer::cli
