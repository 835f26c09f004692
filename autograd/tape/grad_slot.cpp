#include "autograd/tape/grad_slot.h"

#include <utility>

#include "autograd/tape/tape.h"

namespace tapeformer {

GradTarget GradSlot::target() {
  GradCell& cell = *cell_;
  const bool first = !std::exchange(cell.written, true);
  if (cell.fixed_place) return {cell.gradient, first ? 0.0 : 1.0};
  if (first) {
    cell.gradient = Tensor::empty(sizes_, dtype_);
    return {cell.gradient, 0};
  }
  // Another holder may still read what is gathered so far (a gradient handed over to two inputs): then write to a copy.
  if (!cell.gradient.is_contiguous() || !cell.gradient.owns_storage_alone()) cell.gradient = cell.gradient.clone();
  return {cell.gradient, 1};
}

GradTarget GradSlot::strided_target() {
  if (!cell_->written && !cell_->fixed_place) {
    if (Tensor place = tape_ ? tape_->take_place(id_) : Tensor(); place.defined()) {
      cell_->gradient = std::move(place);
      cell_->written = true;
      return {cell_->gradient, 0};
    }
  }
  return target();
}

void GradSlot::accumulate(const Tensor& gradient) {
  check(gradient.sizes() == sizes_ && gradient.dtype() == dtype_, "gradient: expected ", sizes_, " ", dtype_, ", got ",
        gradient.sizes(), " ", gradient.dtype());
  if (cell_->written) {
    target().tensor.add_from(gradient);
  } else if (cell_->fixed_place) {
    target().tensor.copy_from(gradient);
  } else {
    cell_->gradient = gradient;
    cell_->written = true;
  }
}

Tensor GradSlot::lend_place() {
  if (cell_->written) return {};
  Tensor place = tape_ ? tape_->take_place(id_) : Tensor();
  return place.defined() ? place : Tensor::empty(sizes_, dtype_);
}

}  // namespace tapeformer
