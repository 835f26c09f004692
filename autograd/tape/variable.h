// A tensor as the tape knows it.
#pragma once

#include <limits>
#include <memory>

#include "autograd/tape/grad_slot.h"

namespace tapeformer {

class Tape;

// What a parameter keeps between steps.
struct Leaf {
  Tensor value;
  GradCell grad;
};

// Copying a Variable copies the handle. There are two kinds:
//   a parameter: lives on no tape, keeps its value and gathers its gradient over any number of backward passes;
//   a value on a tape: a constant, or the result of an op.
// Modules take and return Variables only, and a Tensor becomes one only by name (Variable::constant), so a gradient
// cannot be cut by accident.
class Variable {
 public:
  Variable() = default;  // undefined: stands for an optional input that is absent
  static Variable parameter(Tensor value);
  static Variable constant(Tape& tape, Tensor value);
  // A parameter as a value on a tape, for an op none of whose other inputs is on one.
  Variable on(Tape& tape) const;

  bool defined() const { return leaf_ || value_.defined(); }
  const Tensor& value() const { return leaf_ ? leaf_->value : value_; }
  const Dims& sizes() const { return value().sizes(); }
  std::int64_t size(int axis) const { return value().size(axis); }
  DType dtype() const { return value().dtype(); }
  bool requires_grad() const { return leaf_ || id_ >= 0; }
  // Whether backward can reach this value: not the result of an op in the first run of recompute().
  bool kept() const { return id_ != kUnkept; }
  // The tape it is on; null for a parameter that was not put on one.
  Tape* tape() const { return tape_; }

  // Parameters only (Error otherwise): the gathered gradient, undefined when nothing was written since zero_grad.
  Tensor grad() const;
  void zero_grad() const;
  // Moves value and gradient to other memory of the same sizes and dtype, keeping the value: the slab of the optimizer.
  void rebind(const Tensor& value, const Tensor& grad) const;

  // Two handles of the same parameter (tied weights).
  bool same_parameter(const Variable& other) const { return leaf_ && leaf_ == other.leaf_; }

 private:
  friend class Tape;
  static constexpr int kUnkept = std::numeric_limits<int>::max();
  Leaf& parameter_leaf(const char* what) const;

  Tensor value_;
  Tape* tape_ = nullptr;
  int id_ = -1;  // place on the tape; -1 when no gradient flows, kUnkept when its op was not kept
  std::shared_ptr<Leaf> leaf_;
};

}  // namespace tapeformer
