// The op table: for every op that the tape knows, small inputs and a function to check its gradient on. A new op needs
// a row here: without one the gradient checks fail.
#pragma once

#include "autograd/gradcheck/gradcheck.h"

namespace tapeformer {

struct OpCase {
  std::string op;              // Op::kName
  std::string label;           // the options that it covers
  std::vector<Tensor> inputs;  // f64: checked; i32 (ids): not differentiable
  TapeFunction function;
  // What a reader looks for, where the op does several things: "lstm", "rotary", "cross_attention". Empty: the op.
  std::string name = {};

  const std::string& shown_name() const { return name.empty() ? op : name; }
};

// At least one row for each op, and one for each option with a path of its own.
std::vector<OpCase> op_cases();

}  // namespace tapeformer
