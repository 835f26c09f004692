// What a run trains: a model on its data. The trainer knows no more of either.
#pragma once

#include <optional>

#include "autograd/tape/tape.h"
#include "nn/module.h"
#include "train/evaluation.h"

namespace tapeformer {

class Objective {
 public:
  virtual ~Objective() = default;

  virtual const Module& model() const = 0;

  // Targets that are scored in all micro-steps of a step together.
  virtual std::int64_t scored_targets(std::int64_t step) = 0;
  // The loss of one micro-step: its summed negative log-likelihood divided by `normalizer`, the scored targets of the
  // whole step, so that the losses and gradients of the micro-steps add up to those of the step. Its value may be known
  // only after backward. Undefined where the micro-step has nothing to score.
  virtual Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, double normalizer) = 0;

  virtual bool can_evaluate() const = 0;
  virtual Evaluation evaluate(const ProgressCallback& progress) = 0;
  // Of the whole validation data: what evaluate() scores of it, and the bytes of its text.
  virtual std::int64_t evaluation_tokens() const = 0;
  virtual std::int64_t evaluation_bytes() const = 0;
  // BLEU of the model's own output for the validation data; nothing where that is no translation.
  virtual std::optional<double> bleu() { return std::nullopt; }
};

}  // namespace tapeformer
