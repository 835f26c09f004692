#include "autograd/tape/variable.h"

#include <utility>

#include "autograd/tape/tape.h"

namespace tapeformer {

Variable Variable::parameter(Tensor value) {
  check(value.defined() && value.dtype() != DType::i32, "parameter: expected a floating-point tensor");
  Variable variable;
  variable.leaf_ = std::make_shared<Leaf>();
  variable.leaf_->value = std::move(value);
  return variable;
}

Variable Variable::constant(Tape& tape, Tensor value) {
  Variable variable;
  variable.value_ = std::move(value);
  return variable.on(tape);
}

Variable Variable::on(Tape& tape) const {
  Variable variable = *this;
  variable.tape_ = &tape;
  variable.tape_number_ = tape.number_;
  return variable;
}

bool Variable::is_on(const Tape& tape) const { return tape_ == &tape && tape_number_ == tape.number_; }

Leaf& Variable::parameter_leaf(const char* what) const {
  check(leaf_ != nullptr, what, ": the variable is not a parameter");
  return *leaf_;
}

Tensor Variable::grad() const {
  const GradCell& cell = parameter_leaf("grad").grad;
  return cell.written ? cell.gradient : Tensor();
}

void Variable::zero_grad() const {
  GradCell& cell = parameter_leaf("zero_grad").grad;
  cell.written = false;
  if (!cell.fixed_place) cell.gradient = Tensor();
}

void Variable::freeze() const { parameter_leaf("freeze").frozen = true; }

void Variable::replace_frozen(Tensor value) const {
  Leaf& leaf = parameter_leaf("replace_frozen");
  check(leaf.frozen && value.sizes() == leaf.value.sizes(), "replace_frozen: expected a frozen parameter ",
        leaf.value.sizes(), ", got ", leaf.frozen ? "" : "one that learns, ", value.sizes());
  leaf.value = std::move(value);
}

void Variable::rebind(const Tensor& value, const Tensor& grad) const {
  Leaf& leaf = parameter_leaf("rebind");
  value.copy_from(leaf.value);
  leaf.value = value;
  leaf.grad = GradCell{.gradient = grad, .fixed_place = true};
}

}  // namespace tapeformer
