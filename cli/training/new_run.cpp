#include "cli/options/config_options.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/stop_signal.h"
#include "cli/training/new_or_continued_run.h"
#include "cli/training/planning.h"
#include "cli/training/run_setup.h"
#include "cli/training/training.h"
#include "data/chat/chat_format.h"
#include "tasks/common/shared_tasks.h"
#include "tasks/plan/speed.h"
#include "tokenizer/tokenizer.h"
#include "train/loop/initial_weights.h"

namespace tapeformer::cli {
namespace {

// What a new run trains.
struct NewTraining {
  ResolvedConfig config;
  bool initial_tokenizers;  // use_initial_tokenizers()
};

NewTraining read_configuration(const TrainArguments& arguments, const Communicator& ranks) {
  if (const auto minutes = planned_minutes(arguments.minutes, arguments.overrides)) {
    if (ranks.size() > 1) {
      fail_usage("--minutes: expected one process, got ", ranks.size(),
                 " ranks: plan with one, and give them the keys that info --minutes shows");
    }
    const auto unless_stopped = [timer = measuring_timer(*minutes)](const ResolvedConfig& config) {
      if (StopSignal::requested()) throw StoppedBeforeTraining();
      return timer(config);
    };
    const PlannedTraining planned = plan_training(arguments.config, arguments.overrides, *minutes, unless_stopped);
    log_plan(planned.plan, *minutes);
    return {resolve_for_training(planned.plan.config), planned.initial_tokenizers};
  }
  Config given;
  if (!arguments.config.empty()) given = load_config(arguments.config);
  given = new_config(std::move(given), arguments.overrides).values();
  const bool initial_tokenizers = use_initial_tokenizers(given);
  return {resolve_for_training(std::move(given)), initial_tokenizers};
}

// The tokenizers that the run keeps. A causal model that begins with random values reads texts without the tokens that
// a published tokenizer puts around them (its frame), so the run keeps the tokenizer without its frame: then neither
// this program nor another adds them. One that begins with the weights of another keeps the chat template that it
// answers by, whatever it is trained on.
RunTokenizers tokenizers_of(const ResolvedConfig& config, const Objective& objective) {
  RunTokenizers tokenizers = objective.facts().tokenizers;
  if (!config.family().is_causal()) return tokenizers;
  if (!config.train.init_from.empty()) {
    const std::string& file = config.tokenizer.file;
    if (!tokenizers.chat.empty() || file.empty() || !trains_own_head(config)) return tokenizers;
    if (const auto settings = ChatSettings::find_beside(file)) tokenizers.chat = settings->to_json();
    return tokenizers;
  }
  const TextFrame frame = Tokenizer::from_json(tokenizers.source, "the run's tokenizer")->frame();
  if (!frame.before.empty() || !frame.after.empty()) tokenizers.source = without_frame(tokenizers.source);
  return tokenizers;
}

}  // namespace

void start_run(const TrainArguments& arguments, Communicator& ranks) {
  if (arguments.config.empty()) refuse_configuration_as_text("train", arguments.overrides);
  if (ranks.is_root()) require_no_run(arguments.out);
  const auto [config, initial_tokenizers] = read_configuration(arguments, ranks);
  prepare_ranks(config, ranks);
  PreparedObjective prepared = prepare_objective(config, nullptr, ranks);
  Objective& objective = *prepared.objective;
  const bool has_weights = !config.train.init_from.empty();
  objective.model().initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  if (has_weights) {
    for (const std::string& line : load_initial_weights(config, objective.initial_part())) log_warning("{}", line);
    log_info("the weights {}are those of {}", initial_tokenizers ? "and the tokenizer " : "", config.train.init_from);
  }
  Training training = make_training(config, std::move(prepared), ranks);
  const std::string config_toml = to_toml(config);
  // Weights that come from another run or a file are saved at once, so that this run does not need the other one later.
  const auto save_weights = [&](const RunFolder& run) {
    if (ranks.is_root()) save_base(run, objective.model());
    if (ranks.is_root()) training.state.run_files = hash_run_files(run);
    if (has_weights) save_checkpoint(training, run, {.config_toml = config_toml, .regular = false});
  };
  const RunFolder run = make_run(arguments.out, config_toml, tokenizers_of(config, objective), save_weights, ranks);
  const auto lock = lock_run(run, ranks);
  train_run(config, training, run, {.began_at = arguments.began_at});
}

}  // namespace tapeformer::cli
