// A checkpoint of a training: the model's weights, the optimizer's state, and the training state.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nn/module/module.h"
#include "nn/optim/optimizer.h"
#include "nn/optim/schedule.h"
#include "train/distributed/communicator.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"
#include "train/run/run_files.h"

namespace tapeformer {

struct BestEvaluation {
  double loss = 0;  // Evaluation::cost()
  std::int64_t step = 0;
};

// What a training with train.minutes has chosen so far, see TimeBudget.
struct ClockPlan {
  Cooldown cooldown = {};
  double minutes = 0;      // train.minutes when it was chosen
  std::int64_t steps = 0;  // train.steps when the cool-down was chosen; 0: not known, an older version chose it
  double deadline_s = 0;   // TrainingState::elapsed_s at which a cool-down that has begun is to end
  bool moved = false;      // whether no wsd schedule without a clock has the learning rates of the steps so far
};

// The fields of state.json, and the recurrent state. There is no random generator state: random numbers are pure
// functions of seed and step.
struct TrainingState {
  std::int64_t step = 0;    // steps done
  std::int64_t tokens = 0;  // tokens so far, as StepSize counts them
  double elapsed_s = 0;     // training time so far
  double best_loss = 0;     // Evaluation::cost() of the best evaluation so far, at step best_step
  std::int64_t best_step = 0;
  // If the best evaluation is an extra one at the end of the run (eval.every did not ask for it): the best one before
  // it, with step 0 if there is none. A run that is given more steps continues with this earlier one.
  std::optional<BestEvaluation> scheduled_best = {};
  bool evaluated = true;  // whether an evaluation of this step was made; true also if an older version saved it
  // The argument of learning_rate() for schedule.kind = plateau; 0 for the other schedules.
  std::int64_t num_bad_epochs = 0;
  std::optional<ClockPlan> clock = {};  // with train.minutes
  // Hashes of the training and of the validation data, so that a resume can tell when they have changed; 0: unknown.
  std::uint64_t data_hash = 0, valid_hash = 0;
  std::int64_t terms_since = 0;  // evaluations of later steps compare with the next ones, see evaluation_terms.h
  std::string scored_by = {};    // how the validation data was scored, see evaluation_terms.h; empty: unknown
  RunFileHashes run_files = {};  // hashes of the tokenizers and labels; empty for a checkpoint of an older version
  MetricsMark metrics = {};      // the content of metrics.jsonl at that moment
  // Objective::recurrent_state(), stored in the file carried.safetensors; if it is empty, there is no such file.
  NamedTensors recurrent_state = {};
};

// Returns the step of a checkpoint that must be kept because the run may continue with more steps; 0: none.
inline std::int64_t kept_best(const TrainingState& state) {
  return state.scheduled_best ? state.scheduled_best->step : 0;
}

// Options for saving a checkpoint.
struct CheckpointOptions {
  std::string_view config_toml;  // the resolved configuration that it was trained with
  bool regular = true;           // false: saved outside the schedule; averages leave it out unless it is the newest
};

// Writes model.safetensors, optimizer.safetensors and config.toml to a staging folder; publish() then makes a
// checkpoint of them and `state`. The files already have the present values, so the caller may continue training at
// once. The system's file cache keeps the bytes until they are on disk, so no copy of the weights is made in memory.
//
// With several ranks, all call it: each writes its share of the optimizer's state,
// optimizer-00001-of-00004.safetensors, and rank 0 the other files. Only rank 0 gets a checkpoint to publish, the
// others get null.
std::unique_ptr<StagedCheckpoint> stage_checkpoint(const RunFolder& run, const Module& model,
                                                   const Optimizer& optimizer, const TrainingState& state,
                                                   const CheckpointOptions& options,
                                                   Communicator& ranks = Communicator::alone());

// Publishes the weights of a model that was trained elsewhere as the checkpoint of step 0. The checkpoint has no
// optimizer state: the run can be used, and other runs can begin with its weights (train.init_from), but it cannot be
// resumed.
void publish_weights(const RunFolder& run, const Module& model, std::string_view config_toml);

// Reads a checkpoint into model and optimizer, each tensor directly into its memory. Throws Error, and changes no
// weight, if it does not fit them. The number of ranks may differ from that of the run that saved it.
TrainingState load_checkpoint(const RunFolder& run, std::int64_t step, const Module& model, Optimizer& optimizer,
                              const Communicator& ranks = Communicator::alone());

// Reads only the fields of a checkpoint's state.json, without the recurrent state. Throws Error if it is damaged.
TrainingState read_training_state(const RunFolder& run, std::int64_t step);
// Returns the state of the newest checkpoint; nullopt if there is none, or if it is damaged or was just removed:
// whoever needs its weights will report that.
std::optional<TrainingState> newest_training_state(const RunFolder& run);
// Returns TrainingState::terms_since of the newest checkpoint: the evaluations up to this step do not compare with the
// later ones. Returns 0 where there is no newest_training_state().
std::int64_t terms_since(const RunFolder& run);

// Reads only the weights, from the folder of a checkpoint or an average, each tensor directly into its memory. Throws
// Error, naming the file, when they do not fit. The checkpoint may have other tensors whose names begin with `unread`,
// if that is not empty.
void load_weights(const RunFolder& run, const std::filesystem::path& folder, const Module& model,
                  std::string_view unread = {});

// Writes the frozen weights of a model with adapters to RUN/base.safetensors, once, before its first checkpoint; the
// checkpoints have only what learns. Does nothing for a model without frozen weights.
void save_base(const RunFolder& run, const Module& model);

// Returns the path of the weights in the folder of a checkpoint or an average.
std::filesystem::path checkpoint_weights(const std::filesystem::path& folder);
// Returns the path of the configuration with which a checkpoint or average was trained: its own, or the run's if an
// older version wrote the checkpoint.
std::filesystem::path checkpoint_config(const RunFolder& run, const std::filesystem::path& folder);

// An average of the weights. Its files are in RunFolder::average_staging() until it is published as the run's average.
struct StagedAverage {
  std::vector<std::int64_t> steps;  // the steps of the checkpoints that it was made from
  std::unique_ptr<StagedCheckpoint> checkpoint;
};
// Stages the mean of the weights of the last `count` checkpoints (fewer if there are fewer), among the regular ones and
// the newest one. Throws Error if one of them does not verify.
StagedAverage stage_average(const RunFolder& run, std::int64_t count);
// Stages the moving average that the optimizer of the newest checkpoint has kept (train.ema); parameters that are not
// trained keep their values. Throws Error if the checkpoint does not verify.
StagedAverage stage_moving_average(const RunFolder& run);

}  // namespace tapeformer
