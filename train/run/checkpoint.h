// A training state on disk: the model's weights, the optimizer's state, and how far the run is.
#pragma once

#include <memory>

#include "nn/module.h"
#include "nn/optim/optimizer.h"
#include "train/run/checkpoint_store.h"

namespace tapeformer {

// What state.json says besides the step. There is no random state: random numbers are pure functions of seed and step.
struct TrainingState {
  std::int64_t step = 0;    // steps done
  std::int64_t tokens = 0;  // targets scored so far
  double elapsed_s = 0;     // training time so far
  double best_loss = 0;     // of the best evaluation so far, at step best_step
  std::int64_t best_step = 0;
  std::uint64_t data_hash = 0;  // of the training data, so that a resume can tell when it has changed
};

// Writes model.safetensors and optimizer.safetensors, for publish() to make them and `state` a checkpoint. All of it is
// of this moment: the caller may train on at once. The system's file cache holds the bytes until they are on disk; a
// copy of our own would take 12 bytes per parameter of memory, and have to be written all the same.
std::unique_ptr<StagedCheckpoint> stage_checkpoint(const RunFolder& run, const Module& model,
                                                   const Optimizer& optimizer, const TrainingState& state);

// Reads a checkpoint back into model and optimizer. Throws Error, and changes no weight, when it does not fit them.
TrainingState load_checkpoint(const RunFolder& run, std::int64_t step, const Module& model, Optimizer& optimizer);

// The weights alone, for evaluation and generation, of a checkpoint's or an average's folder. Throws Error, naming it,
// when they do not fit.
void load_weights(const RunFolder& run, const std::filesystem::path& folder, const Module& model);

// Publishes the mean of the weights of the last `count` checkpoints (fewer where there are not so many) as the run's
// average; returns their steps. Throws Error when one of them does not verify.
std::vector<std::int64_t> write_average(const RunFolder& run, std::int64_t count);

}  // namespace tapeformer
