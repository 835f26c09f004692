// What the tests of text encoders share.
#pragma once

#include "nn/models/bilm.h"
#include "tests/nn/support.h"

namespace tapeformer {

inline double loss_of(const BidirectionalLanguageModel& model, const Tensor& ids, const Tensor& lengths,
                      const CrossEntropyOptions& options = {}) {
  Tape tape(no_grad);
  return model.loss({Variable::constant(tape, ids), lengths}, options).value().item();
}

// Adds the loss's gradients to the model's; returns the loss.
inline double add_gradients(const BidirectionalLanguageModel& model, const Tensor& ids, const Tensor& lengths,
                            const CrossEntropyOptions& loss_options = {}, const TapeOptions& tape_options = {}) {
  Tape tape(tape_options);
  const Variable loss = model.loss({Variable::constant(tape, ids), lengths}, loss_options);
  tape.backward(loss);
  return loss.value().item();
}

}  // namespace tapeformer
