#include "train/run/chosen_checkpoint.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/text/parse_number.h"
#include "train/run/run_files.h"

namespace tapeformer {
namespace {

bool has_average(const RunFolder& run) { return is_folder(run.average()); }

// Returns the step with its names as text: "step 500 (best, latest)".
std::string text_of(const RunFolder& run, std::int64_t step) {
  std::string names;
  if (best_step(run) == step) names = "best";
  if (latest_step(run) == step) names += names.empty() ? "latest" : ", latest";
  return str_cat("step ", step, names.empty() ? "" : " (" + names + ")");
}

// Returns a text that lists what the user can choose in a run: "step 100, step 150 (best), step 200 (latest) and the
// average".
std::string choices(const RunFolder& run) {
  constexpr std::size_t kMostListed = 12;
  const std::vector<std::int64_t> steps = list_checkpoints(run);
  std::string text;
  for (const std::int64_t step : steps) {
    if (steps.size() <= kMostListed || step == best_step(run) || step == latest_step(run))
      text += (text.empty() ? "" : ", ") + text_of(run, step);
  }
  if (steps.size() > kMostListed) text = str_cat(steps.size(), " checkpoints, among them ", text);
  if (has_average(run)) text += text.empty() ? "the average" : " and the average";
  return text.empty() ? "none" : text;
}

std::optional<std::int64_t> step_of(const RunFolder& run, const std::string& word) {
  if (word == "latest") return latest_step(run);
  if (word == "best") return best_step(run);
  const auto step = parse_number<std::int64_t>(word);
  if (!step || *step < 0) fail_usage("--checkpoint: expected latest, best, average or a step, got ", word);
  return is_folder(run.checkpoint(*step)) ? step : std::nullopt;
}

// Returns the checkpoint that the path and --checkpoint name together; none if both name only the run.
RunReference reference_of(const RunSelection& source) {
  RunReference reference = find_run(source.path);
  const std::string& word = source.checkpoint;
  if (word.empty()) return reference;
  if (reference.step || reference.average) {
    fail_usage("--checkpoint: expected none, since ", source.path.string(), " names a checkpoint itself, got ", word);
  }
  const RunFolder& run = reference.run;
  if (word == "average") {
    reference.average = has_average(run);
  } else {
    reference.step = step_of(run, word);
  }
  check(reference.step || reference.average, "--checkpoint ", word, ": ", run.root.string(),
        " has no such checkpoint; it has ", choices(run));
  return reference;
}

std::string damaged_average(const RunFolder& run, std::string_view reason) {
  return str_cat("damaged average skipped: ", run.average().string(), ": ", reason);
}

// Whether the run has an average whose evaluation is better than the best evaluation of the training.
bool average_is_best(const RunFolder& run, std::vector<std::string>& warnings) {
  if (!has_average(run)) return false;
  const HeldFolder held(run.average());
  try {
    const auto state = read_checkpoint_state(run.average());
    return state.contains("cost") && state["cost"].is_number() &&
           state["cost"].get<double>() < state.at("best_loss").get<double>();
  } catch (const IoError& error) {
    if (!held.in_place()) throw CheckpointGone(error.what());
    throw;
  } catch (const std::exception& error) {  // Error, or JSON without the field
    if (!held.in_place()) throw CheckpointGone(error.what());
    warnings.push_back(damaged_average(run, error.what()));
    return false;
  }
}

UsableCheckpoint averaged(const RunFolder& run) {
  const nlohmann::ordered_json state = read_checkpoint_state(run.average());
  const auto step = state.at("step").get<std::int64_t>();
  const std::string_view what =
      state.value("moving_average", false) ? "moving average of the weights" : "average of the last checkpoints";
  return {.run = run,
          .folder = run.average(),
          .step = step,
          .averaged = true,
          .text = str_cat(what, " up to step ", step),
          .warnings = {}};
}

UsableCheckpoint of_step(const RunFolder& run, std::int64_t step, std::vector<std::string> warnings) {
  return {.run = run,
          .folder = run.checkpoint(step),
          .step = step,
          .text = text_of(run, step),
          .warnings = std::move(warnings)};
}

UsableCheckpoint best_checkpoint(const RunFolder& run) {
  std::vector<std::string> warnings;
  if (average_is_best(run, warnings)) {
    const auto reason = verify_beside_training(run.average());
    if (!reason) return averaged(run);
    warnings.push_back(damaged_average(run, *reason));
  }
  if (const auto best = best_step(run)) {
    const auto reason = verify_beside_training(run.checkpoint(*best));
    if (!reason) return of_step(run, *best, std::move(warnings));
    if (best != latest_step(run))  // otherwise it is reported below
      warnings.push_back(str_cat("damaged best checkpoint skipped: ", run.checkpoint(*best).string(), ": ", *reason));
  }
  const std::int64_t newest = usable_checkpoint({.run = run, .step = {}}, warnings);
  return of_step(run, newest, std::move(warnings));
}

// Does the work of find_checkpoint() except the check of the run's tokenizers and labels.
UsableCheckpoint choose(const RunSelection& source) {
  const RunReference reference = reference_of(source);
  const RunFolder& run = reference.run;
  std::vector<std::string> warnings;
  if (reference.step) return of_step(run, usable_checkpoint(reference, warnings), {});
  if (!reference.average) return best_checkpoint(run);
  const auto reason = verify_beside_training(run.average());
  check(!reason.has_value(), run.average().string(), ": ", reason.value_or(""));
  return averaged(run);
}

}  // namespace

std::int64_t usable_checkpoint(const RunReference& reference, std::vector<std::string>& warnings) {
  const RunFolder& run = reference.run;
  if (reference.step) {
    const std::filesystem::path folder = run.checkpoint(*reference.step);
    const auto reason = verify_beside_training(folder);
    check(!reason.has_value(), folder.string(), ": ", reason.value_or(""));
    return *reference.step;
  }
  const NewestCheckpoint newest = newest_valid_checkpoint(run);
  for (const std::string& reason : newest.skipped) warnings.push_back("damaged checkpoint skipped: " + reason);
  check(newest.step.has_value(), run.root.string(), ": the run has no usable checkpoint",
        newest.skipped.empty() ? "" : "; " + newest.skipped.front());
  if (!newest.skipped.empty()) {
    warnings.push_back(str_cat("the newest checkpoint that is whole is of step ", *newest.step));
  }
  return *newest.step;
}

UsableCheckpoint find_checkpoint(const RunSelection& source) {
  const UsableCheckpoint found = choose(source);
  while_in_place(found.folder, [&] { require_run_files(found.run, found.folder); });
  return found;
}

}  // namespace tapeformer
