// A checkpoint of a training: the model's weights, the optimizer's state, and how far the run is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nn/module/module.h"
#include "nn/optim/optimizer.h"
#include "train/distributed/communicator.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"
#include "train/run/run_files.h"

namespace tapeformer {

struct BestEvaluation {
  double loss = 0;  // Evaluation::cost()
  std::int64_t step = 0;
};

// The fields of state.json, and what is carried. There is no random state: random numbers are pure functions of seed
// and step.
struct TrainingState {
  std::int64_t step = 0;    // steps done
  std::int64_t tokens = 0;  // targets scored so far
  double elapsed_s = 0;     // training time so far
  double best_loss = 0;     // Evaluation::cost() of the best evaluation so far, at step best_step
  std::int64_t best_step = 0;
  // Where the best evaluation is one at the end of the run for which eval.every did not ask: the best before it, at
  // step 0 if there is none. A run that is given more steps goes on with that.
  std::optional<BestEvaluation> scheduled_best = {};
  std::int64_t num_bad_epochs = 0;  // as learning_rate() takes it, for schedule.kind = plateau; 0 for the others
  // Hashes of the training and of the validation data, so that a resume can tell when they have changed. 0: not known.
  std::uint64_t data_hash = 0, valid_hash = 0;
  std::string scored_by = {};    // how the validation data was scored, see evaluation_terms.h; empty: not known
  RunFileHashes run_files = {};  // of the tokenizers and labels; a checkpoint without them remembers none
  MetricsMark metrics = {};      // what metrics.jsonl held
  // Objective::carried(), in the file carried.safetensors; no file where there is nothing.
  NamedTensors recurrent_state = {};
};

// The step whose checkpoint is kept for a run that may be given more steps; 0: none.
inline std::int64_t kept_best(const TrainingState& state) {
  return state.scheduled_best ? state.scheduled_best->step : 0;
}

// How a checkpoint is saved.
struct CheckpointOptions {
  std::string_view config_toml;  // the resolved configuration that it was trained with
  bool regular = true;           // false: saved beside the schedule; averages leave it out
};

// Writes model.safetensors, optimizer.safetensors and config.toml, which publish() will make a checkpoint together with
// `state`. The files hold the values of this moment, so the caller may train on at once. The system's file cache keeps
// the bytes until they are on disk, so no copy of the weights is made in memory.
//
// Where there are several ranks, all call it: each writes its share of the optimizer's state,
// optimizer-00001-of-00004.safetensors, and rank 0 the rest. Only rank 0 gets a checkpoint to publish, the others get
// null.
std::unique_ptr<StagedCheckpoint> stage_checkpoint(const RunFolder& run, const Module& model,
                                                   const Optimizer& optimizer, const TrainingState& state,
                                                   const CheckpointOptions& options,
                                                   Communicator& ranks = Communicator::alone());

// Reads a checkpoint into model and optimizer, each tensor straight into its place. Throws Error, and changes no
// weight, when it does not fit them. The checkpoint may be of another number of ranks.
TrainingState load_checkpoint(const RunFolder& run, std::int64_t step, const Module& model, Optimizer& optimizer,
                              const Communicator& ranks = Communicator::alone());

// Reads only the weights, of a checkpoint's or an average's folder, in the same way. Throws Error, naming the folder,
// when they do not fit.
void load_weights(const RunFolder& run, const std::filesystem::path& folder, const Module& model);

// The file of the weights in a checkpoint's or an average's folder.
std::filesystem::path checkpoint_weights(const std::filesystem::path& folder);
// The configuration file that a checkpoint or average was trained with: its own, or the run's for one that an older
// version wrote.
std::filesystem::path checkpoint_config(const RunFolder& run, const std::filesystem::path& folder);

// The mean of the weights of the last `count` checkpoints: regular checkpoints and the newest one, fewer where there
// are not so many. It is to be published as the run's average; its files are in RunFolder::average_staging() meanwhile.
struct StagedAverage {
  std::vector<std::int64_t> steps;  // of the checkpoints
  std::unique_ptr<StagedCheckpoint> checkpoint;
};
// Throws Error when one does not verify.
StagedAverage stage_average(const RunFolder& run, std::int64_t count);

}  // namespace tapeformer
