// Variables: tensors through which gradients can flow.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "autograd/tape/grad_slot.h"

namespace tapeformer {

class Tape;

// The data of a parameter, which all its handles share.
struct Leaf {
  Tensor value;
  GradCell grad;
  bool frozen = false;
};

// Copying a Variable copies the handle. There are two kinds:
//   a parameter: lives on no tape, keeps its value and accumulates its gradient over any number of backward passes;
//   a value on a tape: a constant, or the result of an op.
// Modules take and return only Variables, and a Tensor becomes one only by an explicit call of Variable::constant, so
// that a gradient cannot be cut by accident.
class Variable {
 public:
  Variable() = default;  // undefined: an optional input that is absent
  static Variable parameter(Tensor value);
  static Variable constant(Tape& tape, Tensor value);
  // Puts a parameter on a tape, for an op with no other input on a tape.
  Variable on(Tape& tape) const;

  bool defined() const { return leaf_ || value_.defined(); }
  const Tensor& value() const { return leaf_ ? leaf_->value : value_; }
  const Dims& sizes() const { return value().sizes(); }
  std::int64_t size(int axis) const { return value().size(axis); }
  DType dtype() const { return value().dtype(); }
  bool requires_grad() const { return leaf_ ? !leaf_->frozen : id_ >= 0; }
  // Whether backward can reach this value. It cannot reach the result of an op in the first run of recompute().
  bool kept() const { return id_ != kUnkept; }
  // Returns its tape, or null for a parameter that was not put on one.
  Tape* tape() const { return tape_; }
  // Whether it is on this tape, and not on one that was destroyed and had the same address.
  bool is_on(const Tape& tape) const;

  // For parameters only (Error otherwise). Returns the accumulated gradient, undefined if nothing was written since
  // zero_grad. Unless rebind() has given it a place, it may be a view, and share its memory with other gradients: write
  // to a clone() only.
  Tensor grad() const;
  void zero_grad() const;
  // Makes ops read the parameter as a constant from now on: nothing computes its gradient. Call it before training.
  void freeze() const;
  // Replaces the value of a frozen parameter by one of the same sizes, which may have another dtype.
  void replace_frozen(Tensor value) const;
  // Moves value and gradient to other memory of the same sizes and dtype (the optimizer's slab); the value is copied.
  void rebind(const Tensor& value, const Tensor& grad) const;

  // Whether both are handles of the same parameter (tied weights).
  bool same_parameter(const Variable& other) const { return leaf_ && leaf_ == other.leaf_; }

 private:
  friend class Tape;
  static constexpr int kUnkept = std::numeric_limits<int>::max();
  Leaf& parameter_leaf(const char* what) const;

  Tensor value_;
  Tape* tape_ = nullptr;
  std::uint64_t tape_number_ = 0;
  int id_ = -1;  // its number on the tape; -1 if no gradient flows, kUnkept if its op was not kept
  std::shared_ptr<Leaf> leaf_;
};

}  // namespace tapeformer
