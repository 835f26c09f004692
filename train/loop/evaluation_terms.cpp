#include "train/loop/evaluation_terms.h"

#include "core/error.h"

namespace tapeformer {
namespace {

// Returns the keys that decide how validation data is scored and that a resumed run may change, with their values.
std::string scored_by(const ResolvedConfig& config) {
  std::string text = str_cat("eval.batches = ", config.eval.batches, ", eval.stride = ", config.eval.stride);
  // train.batch matters if the number of batches is limited, and for a recurrent model, which reads that many streams.
  if (config.eval.batches > 0 || config.family().bptt > 0) text += str_cat(", train.batch = ", config.train.batch);
  if (config.eval.batches > 0) text += str_cat(", train.batch_tokens = ", config.train.batch_tokens);
  return text;
}

}  // namespace

TrainingState first_state(const Objective& objective, const ResolvedConfig& config) {
  TrainingState state;
  state.data_hash = objective.facts().data_hash;
  state.valid_hash = objective.facts().valid_hash;
  state.scored_by = scored_by(config);
  return state;
}

std::optional<std::string> take_terms(TrainingState& state, const Objective& objective, const ResolvedConfig& config) {
  const std::uint64_t valid_hash = objective.facts().valid_hash;
  if (valid_hash == 0) return std::nullopt;  // nothing is evaluated now: the terms of the earlier evaluations stay
  const std::string now = scored_by(config);
  std::optional<std::string> change;
  if (state.valid_hash != 0 && state.valid_hash != valid_hash) {
    change = "the validation text is another than before";
  } else if (!state.scored_by.empty() && state.scored_by != now) {
    change = str_cat("validation is scored by ", now, ", and was by ", state.scored_by);
  }
  state.valid_hash = valid_hash;
  state.scored_by = now;
  if (!change) return std::nullopt;
  state.terms_since = state.step;
  if (state.best_step == 0) return std::nullopt;
  state.best_loss = 0, state.best_step = 0;
  state.scheduled_best.reset();
  return *change + ": its losses do not compare with the earlier ones, and the best one is looked for anew";
}

void require_evaluations(const Objective& objective, const ResolvedConfig& config) {
  if (objective.can_evaluate()) return;
  const auto refuse = [&](const char* key, const auto& expected, const auto& got) {
    fail_usage(key, ": expected ", expected, " where nothing is evaluated (", objective.validation().missing, "), got ",
               got);
  };
  if (config.schedule.kind == ScheduleKind::plateau) refuse("schedule.kind", "another one", "plateau");
  if (config.eval.patience > 0) refuse("eval.patience", 0, config.eval.patience);
}

}  // namespace tapeformer
