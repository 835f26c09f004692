// The base of the objectives that train an encoder-decoder on pairs of a source and a target.
#pragma once

#include <cstdint>
#include <optional>

#include "core/parallel.h"
#include "data/parallel/pair_batcher.h"
#include "tasks/translation/translation_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

// Each micro-step reads a batch of its own. The sizes of micro-steps count the tokens of targets, with their ends.
class PairObjective : public Objective {
 public:
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override {
    std::int64_t sum = 0;
    for (std::int64_t micro = micro_steps.begin; micro < micro_steps.end; ++micro) {
      sum += batcher_->scored(index(step, micro));
    }
    return {.targets = sum, .tokens = sum};
  }

  std::int64_t steps_per_epoch() const { return chunk_count(batcher_->batches_per_epoch(), config_.train.accumulate); }
  // The share of the positions of training batches that is padding.
  double padding_share() const { return batcher_->padding_share(); }

 protected:
  using Objective::Objective;

  // Must be called once, in the constructor of a derived class. The pairs must outlive the object. Throws Error as
  // LengthBuckets does.
  void train_on(const TokenPairs& pairs, const PairSymbols& symbols) {
    batcher_.emplace(pairs, symbols, training_batch_options(config_));
  }
  // Returns the batch of a micro-step, which is valid until the next call; it may have no rows.
  const PairBatch& draw(std::int64_t step, std::int64_t micro_step) {
    batcher_->draw(index(step, micro_step), batch_);
    return batch_;
  }

 private:
  // The index of a micro-step's batch since the start of the training.
  std::int64_t index(std::int64_t step, std::int64_t micro_step) const {
    return (step - 1) * config_.train.accumulate + micro_step;
  }

  std::optional<PairBatcher> batcher_;
  PairBatch batch_;
};

}  // namespace tapeformer
